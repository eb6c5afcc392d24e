package convert

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	maxDiskspdCount = 1 << 20
	whyEvents       = "Windows events synchronize DiskSpd with other programs on the same machine"
	whyTracing      = "event tracing exists on Windows only"
)

// diskspdOptions maps the letter of each option of DiskSpd 2.2 to the parser of the option.
var diskspdOptions = map[byte]diskspdOption{
	'?': func(*diskspdLine, string) error { return errors.New("prints help and runs nothing: remove it") },
	':': diskspdIgnored(Differs, "experimental flags change how DiskSpd paces a limited load", "compare the measured rates"),
	'a': diskspdAffinity,
	'b': diskspdBlockSize,
	'B': diskspdBase,
	'c': diskspdBytes(func(l *diskspdLine) *uint64 { return &l.target.size }),
	'C': diskspdTime(func(l *diskspdLine) *int64 { return &l.span.coolDown }),
	'd': diskspdTime(func(l *diskspdLine) *int64 { return &l.span.duration }),
	'D': diskspdIntervals,
	'e': diskspdTracing,
	'f': diskspdLimit,
	'F': diskspdNumber(1, maxDiskspdCount, func(l *diskspdLine) *int64 { return &l.span.threads }),
	'g': diskspdRate,
	'h': diskspdOldCaching,
	'i': diskspdNumber(1, maxDiskspdCount, func(l *diskspdLine) *int64 { return &l.target.burst }),
	'j': diskspdNumber(1, 3_600_000, func(l *diskspdLine) *int64 { return &l.target.think }),
	'I': diskspdNumber(1, 3, func(l *diskspdLine) *int64 { return &l.target.priority }),
	'l': diskspdFlag(func(l *diskspdLine) { l.target.largePages = true }),
	'L': diskspdIgnored(Unneeded, "latency is always measured, for the whole operation as in DiskSpd", ""),
	'n': diskspdFlag(func(l *diskspdLine) { l.span.noAffinity = true }),
	'N': diskspdFlush,
	'o': diskspdNumber(1, maxDiskspdCount, func(l *diskspdLine) *int64 { return &l.target.requests }),
	'O': diskspdNumber(1, maxDiskspdCount, func(l *diskspdLine) *int64 { return &l.span.requests }),
	'p': diskspdFlag(func(l *diskspdLine) { l.target.parallel = true }),
	'P': diskspdIgnored(Unneeded, "progress is always shown during a run", ""),
	'r': diskspdRandom,
	'R': diskspdFormat,
	's': diskspdStride,
	'S': diskspdCaching,
	't': diskspdNumber(1, maxDiskspdCount, func(l *diskspdLine) *int64 { return &l.target.threads }),
	'T': diskspdBytes(func(l *diskspdLine) *uint64 { return &l.target.threadStride }),
	'v': diskspdVerbose,
	'w': diskspdWriteRatio,
	'W': diskspdTime(func(l *diskspdLine) *int64 { return &l.span.warmUp }),
	'x': diskspdFlag(func(l *diskspdLine) { l.span.completion = true }),
	'X': diskspdProfile,
	'y': diskspdEvents,
	'z': diskspdSeed,
	'Z': diskspdBuffers,
}

func diskspdOldCaching(l *diskspdLine, rest string) error {
	if rest != "" {
		return fmt.Errorf("%q follows an option that takes no value", shown(rest))
	}
	return diskspdCaching(l, "h")
}

func diskspdBlockSize(l *diskspdLine, rest string) error {
	block, err := diskspdWhole(rest, diskspdBlock)
	if err == nil && (block < 1 || block >= 1<<32-1) {
		err = errors.New("must be from 1 byte to 4 GiB")
	}
	if err != nil {
		return err
	}
	l.target.block = block
	return nil
}

// diskspdBase parses -BBASE[:LENGTH], which restricts the load to a range of the target.
func diskspdBase(l *diskspdLine, rest string) error {
	base, rest, err := diskspdSize(rest, l.target.block)
	if err != nil {
		return err
	}
	l.target.base = base
	if rest == "" {
		return nil
	}
	if rest[0] != ':' {
		return errors.New("must have the form BASE:LENGTH")
	}
	length, err := diskspdWhole(rest[1:], l.target.block)
	if err != nil {
		return err
	}
	return l.setLimit(base + length)
}

func (l *diskspdLine) setLimit(limit uint64) error {
	if l.limitGiven {
		return errors.New("the end of the range is set twice: keep -f or the length of -B")
	}
	l.limitGiven, l.target.limit = true, limit
	return nil
}

// diskspdLimit parses -fSIZE, which restricts the load to the first SIZE bytes of the target, and the hints -fr, -fs
// and -ft for the cache.
func diskspdLimit(l *diskspdLine, rest string) error {
	if rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		limit, err := diskspdWhole(rest, l.target.block)
		if err != nil {
			return err
		}
		return l.setLimit(limit)
	}
	if rest == "" || strings.Trim(rest, "rst") != "" {
		return errors.New("must be a size, or one or more of the hints r, s and t")
	}
	l.target.hints += rest
	return nil
}

func diskspdIntervals(l *diskspdLine, rest string) error {
	if rest != "" {
		if _, err := diskspdCount(rest, 0, 3_600_000); err != nil {
			return err
		}
	}
	return diskspdIgnored(Unneeded, "each client's series (one value per second) and the spread of its values are always kept", "")(l, rest)
}

func diskspdTracing(l *diskspdLine, rest string) error {
	switch rest {
	case "p", "q", "c", "s", "PROCESS", "THREAD", "IMAGE_LOAD", "DISK_IO", "MEMORY_PAGE_FAULTS", "MEMORY_HARD_FAULTS", "NETWORK", "REGISTRY":
		return diskspdIgnored(Unneeded, whyTracing+" and does not affect the load", "")(l, rest)
	}
	return errors.New("is an unknown kind of event tracing: remove it")
}

// diskspdRate parses the rate limit -gVALUE[i]. The value is in bytes per millisecond or, with the suffix i, in
// operations per second.
func diskspdRate(l *diskspdLine, rest string) error {
	target := &l.target.rateBytes
	if number, isIOPS := strings.CutSuffix(rest, "i"); isIOPS {
		target, rest = &l.target.rateIOPS, number
	}
	value, err := diskspdCount(rest, 1, 1<<31-1)
	*target = value
	return err
}

func diskspdFlush(l *diskspdLine, rest string) error {
	switch strings.ToLower(rest) {
	case "v", "n", "i":
		l.target.flush = strings.ToLower(rest)
		return nil
	}
	return errors.New("must be v, n or i")
}

// diskspdRandom parses -r[ALIGN], -rsPERCENT and -rdDISTRIBUTION, which set the alignment, the share and the
// distribution of random offsets.
func diskspdRandom(l *diskspdLine, rest string) error {
	t := &l.target
	switch {
	case strings.HasPrefix(rest, "s"):
		if t.randomRatio != 0 && t.randomRatio != 100 || strings.Count(l.span.given["rs"], "-rs")+strings.Count(l.span.given["rs"], "/rs") > 1 {
			return errors.New("duplicate -rs: keep one")
		}
		ratio, err := diskspdCount(rest[1:], 1, 100)
		t.randomRatio = ratio
		return err
	case strings.HasPrefix(rest, "d"):
		if len(t.ranges) > 0 {
			return errors.New("duplicate -rd: keep one")
		}
		return t.distribution(rest[1:])
	}
	if t.align != nil {
		return errors.New("the alignment or the stride is already given: -r and -s are mutually exclusive")
	}
	align := t.block
	if rest != "" {
		var err error
		if align, err = diskspdWhole(rest, t.block); err != nil {
			return err
		}
		if align == 0 {
			return errors.New("an alignment must be above 0")
		}
	}
	t.align = &align
	if t.randomRatio == 0 {
		t.randomRatio = 100
	}
	return nil
}

const maxDiskspdRanges = 100

func (t *diskspdTarget) distribution(text string) error {
	kind, list := text, ""
	if len(text) >= 3 {
		kind, list = text[:3], text[3:]
	}
	if kind != "pct" && kind != "abs" {
		return errors.New("use -rdpctIO/TARGET or -rdabsIO/SIZE; separate several ranges with colons")
	}
	t.absolute = kind == "abs"
	for part := range strings.SplitSeq(list, ":") {
		share, size, found := strings.Cut(part, "/")
		percent, err := strconv.ParseUint(share, 10, 8)
		if !found || err != nil || percent > 100 {
			return fmt.Errorf("%q: must have the form IO%%/TARGET", shown(part))
		}
		one := diskspdRange{percent: percent}
		if t.absolute {
			one.size, err = diskspdWhole(size, t.block)
		} else {
			one.size, err = strconv.ParseUint(size, 10, 8)
		}
		if err != nil || one.size == 0 || !t.absolute && one.size > 100 {
			return fmt.Errorf("%q: the size must be above 0 (a percentage of the target for -rdpct, bytes for -rdabs)", shown(part))
		}
		if t.ranges = append(t.ranges, one); len(t.ranges) > maxDiskspdRanges {
			return fmt.Errorf("more than %d ranges", maxDiskspdRanges)
		}
	}
	return nil
}

func diskspdFormat(l *diskspdLine, rest string) error {
	profileOnly := strings.HasPrefix(rest, "p")
	format := strings.TrimPrefix(rest, "p")
	if format != "text" && format != "xml" && (format != "" || !profileOnly) {
		return errors.New("must be text or xml")
	}
	return diskspdIgnored(Unneeded, "the output format is chosen by `report -o`", "")(l, rest)
}

// diskspdStride parses -s[i][STRIDE], the distance between sequential operations. With the letter i, the threads share
// one sequence of offsets.
func diskspdStride(l *diskspdLine, rest string) error {
	t := &l.target
	rest, t.interlocked = strings.CutPrefix(rest, "i")
	if t.align != nil || t.randomRatio > 0 {
		return errors.New("-s is sequential and cannot be used with -r, which also sets the alignment of -rs")
	}
	stride := t.block
	if rest != "" {
		var err error
		if stride, err = diskspdWhole(rest, t.block); err != nil {
			return err
		}
	}
	t.align = &stride
	return nil
}

// diskspdCaching parses the caching modes -S[bhmruw].
func diskspdCaching(l *diskspdLine, rest string) error {
	t := &l.target
	if rest == "" {
		rest = "u"
	}
	for _, letter := range []byte(rest) {
		cache, through := strings.IndexByte("bruh", letter) >= 0, letter == 'w' || letter == 'h'
		switch {
		case cache && l.cacheGiven, through && l.through, letter == 'm' && t.mapped,
			letter == 'm' && t.cache == 'u', (letter == 'u' || letter == 'h') && t.mapped:
			return fmt.Errorf("%c contradicts an earlier cache option: keep one", letter)
		case letter == 'm':
			t.mapped = true
		case !cache && !through:
			return fmt.Errorf("%c is not a caching mode: use one or more of the letters b, h, m, r, u and w", letter)
		}
		if cache {
			l.cacheGiven, t.cache = true, letter
			if letter == 'h' {
				t.cache = 'u'
			}
		}
		if through {
			l.through, t.writeThrough = true, true
		}
	}
	return nil
}

func diskspdVerbose(l *diskspdLine, rest string) error {
	if rest != "" && rest != "s" {
		return errors.New("must be -v or -vs")
	}
	return diskspdIgnored(Unneeded, "reports always contain all details", "")(l, rest)
}

func diskspdWriteRatio(l *diskspdLine, rest string) error {
	if rest == "" {
		return errors.New("has no number, which DiskSpd 2 rejects: use -w0 for reads only, -w100 for writes only")
	}
	ratio, err := diskspdCount(rest, 0, 100)
	l.target.writeRatio = ratio
	return err
}

func diskspdProfile(*diskspdLine, string) error {
	return errors.New("XML profiles are not supported: specify their options on the command line")
}

func diskspdEvents(l *diskspdLine, rest string) error {
	if len(rest) < 2 || strings.IndexByte("sfrpe", rest[0]) < 0 {
		return errors.New("use -ys, -yf, -yr, -yp or -ye with the name of an event")
	}
	return diskspdIgnored(Elsewhere, whyEvents+"; the barrier starts all clients together", "")(l, rest)
}

func diskspdSeed(l *diskspdLine, rest string) error {
	if rest != "" {
		if _, err := diskspdCount(rest, 0, 1<<32-1); err != nil {
			return err
		}
	}
	return diskspdIgnored(Elsewhere, "each run draws and records its own seed; fio and DiskSpd produce different numbers from the same seed",
		"set the seed of an earlier run to repeat its offsets")(l, rest)
}

// diskspdBuffers parses -Z, -Zr and -ZSIZE[,FILE], which set the content of the written data.
func diskspdBuffers(l *diskspdLine, rest string) error {
	switch rest {
	case "":
		l.target.zero = true
		return nil
	case "r":
		l.span.randomWrites = true
		return nil
	}
	size, file, _ := strings.Cut(rest, ",")
	buffer, err := diskspdWhole(size, l.target.block)
	if err == nil && buffer == 0 {
		err = errors.New("a buffer must be larger than 0")
	}
	l.target.buffer, l.target.bufferFile = buffer, file
	return err
}

// diskspdAffinity parses -a, -ag and -a[gGROUP,]CPU,..., which bind threads to CPUs.
func diskspdAffinity(l *diskspdLine, rest string) error {
	if rest == "" || rest == "g" {
		return nil
	}
	group := int64(0)
	parts := strings.Split(rest, ",")
	for i, part := range parts {
		number, isGroup := strings.CutPrefix(part, "g")
		value, err := diskspdCount(number, 0, 65535)
		if err != nil || isGroup && i == len(parts)-1 || !isGroup && value > 255 {
			return fmt.Errorf("%q: use a list of CPUs such as 0,1,2 or g0,0,1,g1,0,1", shown(part))
		}
		if isGroup {
			group = value
			continue
		}
		l.span.affinity = append(l.span.affinity, diskspdCPU{group: group, number: value})
	}
	return nil
}
