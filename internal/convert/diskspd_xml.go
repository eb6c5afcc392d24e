package convert

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// xmlNode is an element: its name, attributes, text and children. Elements that are not known are told,
// which a struct of encoding/xml would not do.
type xmlNode struct {
	name     string
	attrs    map[string]string
	text     string
	children []*xmlNode
}

const (
	maxXMLDepth = 16
	maxXMLNodes = 20_000
)

func readXML(text []byte) (*xmlNode, error) {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.CharsetReader = func(charset string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("it is written in %s: save it as UTF-8", shown(charset))
	}
	root := &xmlNode{}
	stack := []*xmlNode{root}
	for count := 0; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		top := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			if count++; count > maxXMLNodes || len(stack) > maxXMLDepth {
				return nil, errors.New("it has too many elements for a profile")
			}
			child := &xmlNode{name: token.Name.Local, attrs: map[string]string{}}
			for _, attribute := range token.Attr {
				child.attrs[attribute.Name.Local] = attribute.Value
			}
			top.children = append(top.children, child)
			stack = append(stack, child)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.text += string(token)
		}
	}
	if len(root.children) != 1 || root.children[0].name != "Profile" {
		return nil, errors.New("it has no element <Profile> of DiskSpd as its root")
	}
	return root.children[0], nil
}

// xmlReader reads elements of a node and remembers what is wrong.
type xmlReader struct {
	problems []error
	given    map[string]string
}

func (r *xmlReader) refuse(node *xmlNode, format string, arguments ...any) {
	r.problems = append(r.problems, fmt.Errorf("<%s>: %s", shown(node.name), fmt.Sprintf(format, arguments...)))
}

func (r *xmlReader) number(node *xmlNode, most uint64) uint64 {
	value, err := strconv.ParseUint(strings.TrimSpace(node.text), 10, 64)
	if err != nil || value > most {
		r.refuse(node, "write a whole number up to %d", most)
		return 0
	}
	return value
}

func (r *xmlReader) count(node *xmlNode) int64 {
	return int64(r.number(node, maxDiskspdCount)) // #nosec G115 -- bounded
}

func (r *xmlReader) yes(node *xmlNode) bool {
	switch strings.ToLower(strings.TrimSpace(node.text)) {
	case "true", "1":
		return true
	case "false", "0":
		return false
	}
	r.refuse(node, "write true or false")
	return false
}

// xmlKeys are the letters of the command line that elements stand for.
var xmlKeys = map[string]string{
	"Random": "r", "RandomRatio": "rs", "Distribution": "rd", "StrideSize": "s", "InterlockedSequential": "si", "BlockSize": "b", "FileSize": "c",
	"BaseFileOffset": "B", "MaxFileSize": "f", "RequestCount": "o", "ThreadsPerFile": "t", "ThreadCount": "F", "ThreadStride": "T", "ParallelAsyncIO": "p",
	"DisableAllCache": "S", "DisableLocalCache": "S", "DisableOSCache": "S", "WriteThrough": "S", "MemoryMappedIo": "S", "FlushType": "N",
	"WriteBufferContent": "Z", "RandomWriteData": "Z", "BurstSize": "i", "ThinkTime": "j", "Throughput": "g", "IOPriority": "I", "UseLargePages": "l",
	"SequentialScan": "fh", "RandomAccess": "fh", "TemporaryFile": "fh", "Duration": "d", "Warmup": "W", "Cooldown": "C", "Affinity": "a",
	"DisableAffinity": "n", "CompletionRoutines": "x",
}

// readProfile reads the file of -X and lays the times of the command line over it.
func (l *diskspdLine) readProfile(options *Options) ([]diskspdSpan, error) {
	text, err := options.read(l.profile)
	if err != nil {
		return nil, err
	}
	root, err := readXML(text)
	if err != nil {
		return nil, err
	}
	r := &xmlReader{}
	var spans []diskspdSpan
	for _, node := range root.children {
		switch node.name {
		case "TimeSpans":
			for _, child := range node.children {
				if child.name != "TimeSpan" {
					r.refuse(child, "is not known here")
					continue
				}
				spans = append(spans, r.span(child))
			}
		case "Verbose", "VerboseStats", "Progress", "ResultFormat", "ETW", "ExperimentFlags", "PrecreateFiles":
			// What they do is about output, or done anyway.
		default:
			r.refuse(node, "is not known here")
		}
	}
	if len(spans) == 0 && len(r.problems) == 0 {
		r.problems = append(r.problems, errors.New("it has no <TimeSpan>"))
	}
	if len(spans) > 64 {
		r.problems = append(r.problems, fmt.Errorf("it has %d time spans: at most 64 are converted", len(spans)))
	}
	for i := range spans {
		s := &spans[i]
		for letter, target := range map[byte]*int64{'d': &s.duration, 'W': &s.warmUp, 'C': &s.coolDown} {
			if value, ok := l.overrides[letter]; ok {
				*target = value
				s.given[string(letter)] = l.span.given[string(letter)]
			}
		}
		s.extra = append(s.extra, l.span.extra...)
		if len(spans) > 1 {
			s.extra.elsewhere(fmt.Sprintf("<TimeSpan> %d of %d", i+1, len(spans)), "time spans run one after the other", "make a phase of each, in this order")
		}
	}
	return spans, all(r.problems)
}

// span reads one <TimeSpan>.
func (r *xmlReader) span(node *xmlNode) diskspdSpan {
	s := newDiskspdSpan()
	r.given = s.given
	const week = 7 * 24 * 3600
	for _, child := range node.children {
		if key, ok := xmlKeys[child.name]; ok {
			s.given[key] = "<" + child.name + ">"
		}
		switch child.name {
		case "Targets":
			for _, target := range child.children {
				if target.name != "Target" || len(s.targets) == maxDiskspdTargets {
					r.refuse(target, "is not known here, or one too many")
					continue
				}
				s.targets = append(s.targets, r.target(target))
			}
		case "Duration":
			s.duration = int64(r.number(child, week)) // #nosec G115 -- bounded
		case "Warmup":
			s.warmUp = int64(r.number(child, week)) // #nosec G115 -- bounded
		case "Cooldown":
			s.coolDown = int64(r.number(child, week)) // #nosec G115 -- bounded
		case "ThreadCount":
			s.threads = r.count(child)
		case "RequestCount":
			s.requests = r.count(child)
			s.given["O"] = "<RequestCount>"
		case "RandomWriteData":
			s.randomWrites = r.yes(child)
		case "DisableAffinity":
			s.noAffinity = r.yes(child)
		case "CompletionRoutines":
			s.completion = r.yes(child)
		case "Affinity":
			r.affinity(child, &s)
		case "RandSeed":
			s.extra.elsewhere("<RandSeed>", "each run draws its seed and records it", "")
		case "MeasureLatency", "CalculateIopsStdDev", "IoBucketDuration", "GroupAffinity":
			// Always measured; the default of DiskSpd.
		default:
			r.refuse(child, "is not known here")
		}
	}
	if len(s.targets) == 0 {
		r.refuse(node, "it has no <Target>")
	}
	return s
}

func (r *xmlReader) affinity(node *xmlNode, s *diskspdSpan) {
	for _, child := range node.children {
		var group, number string
		switch child.name {
		case "AffinityAssignment":
			group, number = "0", strings.TrimSpace(child.text)
		case "AffinityGroupAssignment":
			group, number = child.attrs["Group"], child.attrs["Processor"]
		default:
			r.refuse(child, "is not known here")
			continue
		}
		groupNumber, errGroup := diskspdCount(group, 0, 65535)
		cpu, errCPU := diskspdCount(number, 0, 255)
		if err := errors.Join(errGroup, errCPU); err != nil {
			r.refuse(child, "%v", err)
			continue
		}
		s.affinity = append(s.affinity, diskspdCPU{group: groupNumber, number: cpu})
	}
}
