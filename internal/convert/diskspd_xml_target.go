package convert

import "strings"

// xmlTarget sets what one element of a <Target> says.
type xmlTarget func(r *xmlReader, node *xmlNode, t *diskspdTarget)

const maxDiskspdBytes = 1 << 62

var xmlTargets = map[string]xmlTarget{
	"Path":           func(_ *xmlReader, n *xmlNode, t *diskspdTarget) { t.path = strings.TrimSpace(n.text) },
	"BlockSize":      func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.block = r.number(n, 1<<32-1) },
	"BaseFileOffset": func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.base = r.number(n, maxDiskspdBytes) },
	"FileSize":       func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.size = r.number(n, maxDiskspdBytes) },
	"MaxFileSize":    func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.limit = r.number(n, maxDiskspdBytes) },
	"ThreadStride":   func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.threadStride = r.number(n, maxDiskspdBytes) },
	"RequestCount":   func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.requests = r.atLeastOne(n) },
	"ThreadsPerFile": func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.threads = r.atLeastOne(n) },
	"WriteRatio":     func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.writeRatio = r.percent(n) },
	"RandomRatio":    func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.randomRatio = r.percent(n) },
	"BurstSize":      func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.burst = r.count(n) },
	"ThinkTime":      func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.think = r.count(n) },
	"IOPriority":     func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.priority = int64(r.number(n, 3)) }, // #nosec G115 -- bounded

	"InterlockedSequential": func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.interlocked = r.yes(n) },
	"ParallelAsyncIO":       func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.parallel = r.yes(n) },
	"UseLargePages":         func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.largePages = r.yes(n) },
	"MemoryMappedIo":        func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.mapped = r.yes(n) },
	"WriteThrough":          func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.writeThrough = t.writeThrough || r.yes(n) },
	"SequentialScan":        func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.hint(r.yes(n), "s") },
	"RandomAccess":          func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.hint(r.yes(n), "r") },
	"TemporaryFile":         func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.hint(r.yes(n), "t") },
	"Weight":                func(_ *xmlReader, _ *xmlNode, t *diskspdTarget) { t.weight = true },
	"ThreadTargets":         func(_ *xmlReader, _ *xmlNode, t *diskspdTarget) { t.weight = true },

	"Random":             xmlRandom,
	"StrideSize":         xmlStride,
	"DisableOSCache":     func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.uncached(r.yes(n), 'u') },
	"DisableLocalCache":  func(r *xmlReader, n *xmlNode, t *diskspdTarget) { t.uncached(r.yes(n), 'r') },
	"DisableAllCache":    xmlNoCache,
	"FlushType":          xmlFlush,
	"WriteBufferContent": xmlContent,
	"Throughput":         xmlThroughput,
	"Distribution":       xmlDistribution,
}

func (r *xmlReader) percent(node *xmlNode) int64 { return int64(r.number(node, 100)) } // #nosec G115 -- bounded

func (r *xmlReader) atLeastOne(node *xmlNode) int64 {
	value := r.count(node)
	if value == 0 {
		r.refuse(node, "must be at least 1")
	}
	return max(value, 1)
}

func (t *diskspdTarget) hint(on bool, letter string) {
	if on {
		t.hints += letter
	}
}

func (t *diskspdTarget) uncached(on bool, kind byte) {
	if on {
		t.cache = kind
	}
}

// target reads one <Target>.
func (r *xmlReader) target(node *xmlNode) diskspdTarget {
	t := newDiskspdTarget()
	for _, child := range node.children {
		set, known := xmlTargets[child.name]
		if !known {
			r.refuse(child, "is not known here")
			continue
		}
		if key, ok := xmlKeys[child.name]; ok {
			r.given[key] = "<" + child.name + ">"
		}
		set(r, child, &t)
	}
	if t.path == "" {
		r.refuse(node, "it has no <Path>")
	}
	return t
}

func xmlRandom(r *xmlReader, node *xmlNode, t *diskspdTarget) {
	align := r.number(node, maxDiskspdBytes)
	if align == 0 || t.align != nil {
		r.refuse(node, "must be above 0, and excludes <StrideSize>")
		return
	}
	t.align = &align
	if t.randomRatio == 0 {
		t.randomRatio = 100
	}
}

func xmlStride(r *xmlReader, node *xmlNode, t *diskspdTarget) {
	stride := r.number(node, maxDiskspdBytes)
	if t.align != nil || t.randomRatio > 0 {
		r.refuse(node, "excludes <Random> and <RandomRatio>")
		return
	}
	t.align = &stride
}

func xmlNoCache(r *xmlReader, node *xmlNode, t *diskspdTarget) {
	if r.yes(node) {
		t.cache, t.writeThrough = 'u', true
	}
}

func xmlFlush(r *xmlReader, node *xmlNode, t *diskspdTarget) {
	kinds := map[string]string{"ViewOfFile": "v", "NonVolatileMemory": "n", "NonVolatileMemoryNoDrain": "i"}
	kind, known := kinds[strings.TrimSpace(node.text)]
	if !known {
		r.refuse(node, "write ViewOfFile, NonVolatileMemory or NonVolatileMemoryNoDrain")
	}
	t.flush = kind
}

func xmlContent(r *xmlReader, node *xmlNode, t *diskspdTarget) {
	for _, child := range node.children {
		switch child.name {
		case "Pattern":
			switch strings.TrimSpace(child.text) {
			case "zero":
				t.zero = true
			case "sequential", "random":
			default:
				r.refuse(child, "write sequential, zero or random")
			}
		case "RandomDataSource":
			for _, source := range child.children {
				switch source.name {
				case "SizeInBytes":
					t.buffer = r.number(source, maxDiskspdBytes)
				case "FilePath":
					t.bufferFile = strings.TrimSpace(source.text)
				default:
					r.refuse(source, "is not known here")
				}
			}
		default:
			r.refuse(child, "is not known here")
		}
	}
}

func xmlThroughput(r *xmlReader, node *xmlNode, t *diskspdTarget) {
	value := int64(r.number(node, 1<<31-1)) // #nosec G115 -- bounded
	switch node.attrs["unit"] {
	case "", "BPMS":
		t.rateBytes = value
	case "IOPS":
		t.rateIOPS = value
	default:
		r.refuse(node, "write the unit BPMS or IOPS")
	}
}

func xmlDistribution(r *xmlReader, node *xmlNode, t *diskspdTarget) {
	if len(node.children) != 1 || node.children[0].name != "Percent" && node.children[0].name != "Absolute" {
		r.refuse(node, "write <Percent> or <Absolute> with its ranges")
		return
	}
	kind := node.children[0]
	t.absolute = kind.name == "Absolute"
	for _, child := range kind.children {
		share, err := diskspdCount(child.attrs["IO"], 0, 100)
		size := r.number(child, maxDiskspdBytes)
		if err != nil || child.name != "Range" || !t.absolute && (size == 0 || size > 100) || len(t.ranges) == maxDiskspdRanges {
			r.refuse(child, "write <Range IO=\"PERCENT\">SIZE</Range>")
			return
		}
		t.ranges = append(t.ranges, diskspdRange{percent: uint64(share), size: size}) // #nosec G115 -- bounded
	}
}
