package fio

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/measure"
)

// independent holds fio's output as decoded by encoding/json. It shares no code with Decode.
type independent struct {
	Version string           `json:"fio version"`
	Jobs    []independentJob `json:"jobs"`
	Clients []independentJob `json:"client_stats"`
}

type independentJob struct {
	Name  string               `json:"jobname"`
	Error int                  `json:"error"`
	Read  independentDirection `json:"read"`
	Write independentDirection `json:"write"`
	Trim  independentDirection `json:"trim"`
	Sync  independentDirection `json:"sync"`
}

type independentDirection struct {
	Bytes     uint64             `json:"io_bytes"`
	Kibibytes uint64             `json:"io_kbytes"`
	TotalIOs  uint64             `json:"total_ios"`
	IOPS      float64            `json:"iops"`
	Runtime   uint64             `json:"runtime"`
	Latency   independentLatency `json:"lat_ns"`
}

type independentLatency struct {
	N    uint64            `json:"N"`
	Min  uint64            `json:"min"`
	Max  uint64            `json:"max"`
	Mean float64           `json:"mean"`
	Bins map[string]uint64 `json:"bins"`
}

// notNumbers matches what C prints for a division by zero. Decode does not read such fields.
var notNumbers = regexp.MustCompile(`([:,\[]\s*)-?(?:nan|inf)\b`)

// checkIndependently checks a result against the bytes of its document.
func checkIndependently(raw []byte, snapshot *Snapshot) error {
	var document independent
	raw = notNumbers.ReplaceAll(raw, []byte("$1 0 "))
	if err := json.Unmarshal(raw, &document); err != nil {
		return fmt.Errorf("encoding/json does not read it: %w", err)
	}
	if !strings.HasPrefix(document.Version, "fio-") {
		return fmt.Errorf("its version is %q", document.Version)
	}
	jobs := document.Jobs
	if jobs == nil && len(document.Clients) > 0 {
		for _, client := range document.Clients {
			if client.Name != "All clients" || len(document.Clients) == 1 {
				jobs = append(jobs, client)
			}
		}
	}
	if len(jobs) == 0 {
		return fmt.Errorf("it has no jobs")
	}
	var sums [measure.NumOperations]measure.Counter
	var counts [measure.NumOperations]uint64
	for _, job := range jobs {
		for i, d := range []independentDirection{job.Read, job.Write, job.Trim, job.Sync} {
			if d.Bytes>>10 != d.Kibibytes {
				return fmt.Errorf("%d bytes are not %d KiB", d.Bytes, d.Kibibytes)
			}
			if d.Runtime > 0 && d.IOPS*float64(d.Runtime)/1000-float64(d.TotalIOs) > 0.5 {
				return fmt.Errorf("%v IOPS in %d ms are not %d", d.IOPS, d.Runtime, d.TotalIOs)
			}
			var inBins uint64
			for _, n := range d.Latency.Bins {
				inBins += n
			}
			if len(d.Latency.Bins) > 0 && inBins != d.Latency.N {
				return fmt.Errorf("bins count %d, N is %d", inBins, d.Latency.N)
			}
			if d.Latency.N > 0 && (float64(d.Latency.Min) > d.Latency.Mean+1 || d.Latency.Mean > float64(d.Latency.Max)+1) {
				return fmt.Errorf("mean %v is not between %d and %d", d.Latency.Mean, d.Latency.Min, d.Latency.Max)
			}
			sums[i].Bytes += d.Bytes
			sums[i].Operations += d.TotalIOs
			counts[i] += d.Latency.N
		}
	}
	for i := range sums {
		if total := &snapshot.Operations[i]; total.Counter != sums[i] || total.Total.Count != counts[i] {
			return fmt.Errorf("%v: result %+v with N %d, document %+v with N %d", measure.Operation(i), total.Counter, total.Total.Count, sums[i], counts[i])
		}
	}
	return nil
}

// proven returns the result of an output. It fails the test if the result is a success that the bytes do not prove.
func proven(t *testing.T, stdout []byte) Result {
	t.Helper()
	output, err := ReadOutput(bytes.NewReader(stdout))
	if err != nil {
		t.Fatal(err)
	}
	result := Final(output, Exit{}, "", Expectation{})
	switch result.Outcome {
	case Failed:
		if result.Failure == "" || result.Message == "" {
			t.Fatalf("failed without a reason: %+v", result)
		}
		return result
	case Complete:
	default:
		t.Fatalf("outcome %v of exit code 0", result.Outcome)
	}
	last := output.Last
	end := last.Offset + int64(last.Length)
	if err := checkIndependently(stdout[last.Offset:end], result.Snapshot); err != nil {
		t.Fatalf("wrong success: %v\n%s", err, stdout[last.Offset:end])
	}
	for line := range strings.Lines(string(stdout[end:])) {
		if output.Documents == 1 {
			break // a single document cannot be hidden by the text after it
		}
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "fio: terminating on signal ") {
			t.Fatalf("a success although %q follows", line)
		}
	}
	return result
}

// FuzzDecode decodes arbitrary output. An independent decoder must confirm the document of every Complete result, no
// unread text may follow that document, and the result must not depend on how the output is split into pieces.
func FuzzDecode(f *testing.F) {
	// Keep the inputs small, because long ones slow the fuzzer down.
	for _, name := range []string{"write", "unified", "all-256-fail-errno", "bad-value"} {
		f.Add(readRecording(f, name).stdout, 100)
	}
	small := compact(f, readRecording(f, "write").stdout)
	f.Add(small, 3)
	f.Add(append(append([]byte("fio: noise {\"\n"), small...), small...), 40)
	f.Add(append(append([]byte{}, small...), "\nfio: terminating on signal 2\n"...), 1)
	f.Add(append(small[:len(small)/2:len(small)/2], small...), 7)
	f.Fuzz(func(t *testing.T, stdout []byte, piece int) {
		proven(t, stdout)
		if piece <= 0 || piece >= len(stdout) {
			return
		}
		whole, _ := ReadOutput(bytes.NewReader(stdout))
		var stream Stream
		_, _ = stream.Write(stdout[:piece])
		_, _ = stream.Write(stdout[piece:])
		if got, want := fmt.Sprint(stream.Close()), fmt.Sprint(whole); stripPointer(got) != stripPointer(want) {
			t.Fatalf("in two pieces: %s\nwhole: %s", got, want)
		}
	})
}

// damageBases returns a dump of a running fio followed by its result. The decoder must not confuse the two.
func damageBases(tb testing.TB) []byte {
	tb.Helper()
	output := readRecording(tb, "sync-writes").stdout
	first := bytes.Index(output, []byte("\n}\n")) + 3
	last := bytes.LastIndex(output, []byte("\n{\n")) + 1
	return append(compact(tb, output[:first]), compact(tb, output[last:])...)
}

// FuzzDamage removes and inserts bytes in a real output that consists of a dump and a result.
func FuzzDamage(f *testing.F) {
	base := damageBases(f)
	original := resultText(proven(&testing.T{}, base))
	for at := 0; at < len(base); at += 500 {
		f.Add(uint(at), uint8(1), []byte{})
		f.Add(uint(at), uint8(0), []byte("\nfio: pid=1, err=5\n"))
		f.Add(uint(at), uint8(5), []byte("99999"))
	}
	f.Fuzz(func(t *testing.T, at uint, cut uint8, inserted []byte) {
		at %= uint(len(base))
		end := min(at+uint(cut), uint(len(base)))
		damaged := append(append(append([]byte{}, base[:at]...), inserted...), base[end:]...)
		if result := proven(t, damaged); result.Outcome == Complete && resultText(result) != original {
			// Figures may differ from the original, but must be possible: proven has checked that.
			t.Logf("another result: %s", resultText(result))
		}
	})
}

func resultText(result Result) string {
	if result.Snapshot == nil {
		return ""
	}
	var text strings.Builder
	for i := range result.Snapshot.Operations {
		total := &result.Snapshot.Operations[i]
		summary := total.Total.Summary()
		fmt.Fprintln(&text, total.Counter, summary.Count, summary.MeanNanoseconds, summary.MinNanoseconds, summary.MaxNanoseconds)
		for key, n := range total.Total.Histogram.Bins() {
			fmt.Fprint(&text, key, "=", n, " ")
		}
	}
	return text.String()
}

// TestBytesOfAResult removes, duplicates and changes single bytes throughout a result. The damaged result must be
// refused or have the same figures.
func TestBytesOfAResult(t *testing.T) {
	t.Parallel()
	base := compact(t, readRecording(t, "write").stdout)
	original := resultText(proven(t, base))
	const step = 29 // hits every kind of position; testing all positions takes a minute
	others := 0
	for at := 0; at < len(base)-1; at += step {
		for _, replacement := range []string{"", "0", "7", "\"", "}", ",", string(base[at]) + string(base[at])} {
			if replacement == string(base[at]) {
				continue
			}
			damaged := append(append(append([]byte{}, base[:at]...), replacement...), base[at+1:]...)
			if got := proven(t, damaged); got.Outcome == Complete && len(got.Warnings) == 0 && resultText(got) != original {
				others++
				t.Logf("%q at %q becomes %q", base[max(at-30, 0):at+1], base[at:at+1], replacement)
			}
		}
	}
	// Some changes contradict no other figure of the document: those of the low digits of a mean, or of a latency within
	// its bin.
	if others > 3 {
		t.Errorf("%d changes of one byte gave another result", others)
	}
}

// stripPointer removes the addresses that fmt prints for pointers.
func stripPointer(text string) string { return pointer.ReplaceAllString(text, "") }

var pointer = regexp.MustCompile(`0x[0-9a-f]+`)

// compact returns a document without the parts that Decode ignores, so that the fuzzer changes only relevant bytes.
func compact(tb testing.TB, output []byte) []byte {
	tb.Helper()
	var document map[string]any
	if err := json.Unmarshal(bytes.TrimSpace(output), &document); err != nil {
		tb.Fatal(err)
	}
	delete(document, "disk_util")
	delete(document, "global options")
	version := document["fio version"]
	delete(document, "fio version")
	for _, job := range document["jobs"].([]any) {
		for key := range job.(map[string]any) {
			if strings.HasPrefix(key, "latency_") || strings.HasPrefix(key, "iodepth_") || key == "job options" {
				delete(job.(map[string]any), key)
			}
		}
	}
	rest, err := json.Marshal(document)
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Appendf(nil, "{\"fio version\" : %q,%s\n", version, rest[1:])
}

// asFio parses a job file as leniently as __parse_jobs_ini in init.c of fio 3.33. It shares no code with parseJobFile.
func asFio(text string) (options []string) {
	for line := range strings.SplitSeq(text, "\n") {
		// fgets reads at most 4095 bytes at a time; C strings end at a zero byte.
		for len(line) > 0 {
			piece := line[:min(len(line), 4095)]
			line = line[len(piece):]
			piece, _, _ = strings.Cut(piece, "\x00")
			piece = strings.TrimLeft(piece, " \t\r\v\f")
			if end := strings.IndexAny(piece, ";#"); end >= 0 {
				piece = piece[:end]
			}
			piece = strings.TrimRightFunc(piece, func(r rune) bool { return r <= ' ' || r == 0x7f })
			if piece == "" || piece[0] == '[' {
				continue
			}
			if strings.HasPrefix(piece, "include") {
				options = append(options, "include")
				continue
			}
			name, _, _ := strings.Cut(piece, "=")
			options = append(options, strings.TrimRight(name, " \t"))
		}
	}
	return options
}

// dangerous matches options that must never be accepted. It does not depend on the product's own lists.
var dangerous = regexp.MustCompile(`^(filename|directory|opendir|lockfile|exec_|include|read_iolog|write_.*(log|iolog)|merge_blktrace|replay_|verify|` +
	`cgroup|uid|gid|profile|ioscheduler|unlink|allow_mounted|unique_filename|file_append|fill_device|runtime|timeout|ramp|` +
	`stonewall|loops|startdelay|kb_base|unit_base|unified|ignore_error|trigger|daemonize|aux|create_)`)

var (
	strictSection = regexp.MustCompile(`^\[[A-Za-z0-9][A-Za-z0-9 _.:+-]*\]$`)
	strictOption  = regexp.MustCompile(`^([a-z_0-9]+)=([A-Za-z0-9_.,:/-]+)$`)
	strictEngine  = regexp.MustCompile(`^(libaio|io_uring|posixaio|p?sync|vsync|pvsync2?|mmap|splice|null)$`)
	strictNames   = regexp.MustCompile(`^filename_format=data\.[0-9]+\.(\$jobnum|[0-9]+)\.\$filenum$`)
)

// FuzzJobFile checks that fio finds no dangerous option in an accepted job file, and that the rendered job file is
// unambiguous.
func FuzzJobFile(f *testing.F) {
	f.Add(userJobFile)
	f.Add("[a]\nsize=1m\n")
	f.Add("[global]\nbs=4k\nsize=1m\n[a]\nrw=randrw\nrwmixread=70\n[b]\nioengine=null\nrw=trim\nnumjobs=3\n")
	f.Add("[a]\nexec_prerun=id\nfilename=/dev/sda\nsize=1m")
	f.Add("[a]\r\nsize=1m\r\ninclude x\r\n")
	f.Add("[a];b\nsize=1m;x\n # c\n bs = 4k,8k \nioengine=external:/x.so\n")
	f.Add("[a]\nsize=1m\nbssplit=4k/50:8k/50\nrandom_distribution=zoned:60/10:40/90\nbuffer_pattern=0xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		sections, err := parseJobFile(text)
		if err != nil {
			return
		}
		if len(sections) == 0 {
			t.Fatal("accepted without a job")
		}
		for _, name := range asFio(text) {
			if dangerous.MatchString(name) {
				t.Fatalf("accepted although fio reads the option %q", name)
			}
		}
		// Any dataset size will do, so use the one that the error suggests.
		what, err := jobFileLoad(text, 0)
		if err != nil {
			_, number, found := strings.Cut(err.Error(), "set datasetSize to ")
			bytes, convertErr := strconv.ParseUint(number, 10, 64)
			if !found || convertErr != nil {
				return
			}
			if what, err = jobFileLoad(text, bytes); err != nil {
				t.Fatal(err)
			}
		}
		for _, purpose := range []func(*writer) error{
			func(w *writer) error {
				return w.measure(&what, &Parameters{Duration: maxDuration, WarmUp: minDuration})
			},
			func(w *writer) error { return w.layout(&what, &Parameters{Purpose: Prepare}) },
			func(w *writer) error { return w.layout(&what, &Parameters{Purpose: Precondition}) },
		} {
			var w writer
			w.section("global")
			if err := purpose(&w); err == nil {
				checkRendered(t, w.text.String())
			}
		}
	})
}

// checkRendered checks a rendered job file with its own tokenizer.
func checkRendered(t *testing.T, text string) {
	t.Helper()
	ours := map[string]bool{"filename_format": true, "runtime": true, "ramp_time": true, "loops": true}
	globals := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "[global]" {
			globals++
			continue
		}
		if strictSection.MatchString(line) && !strings.HasPrefix(line, "[global") || strictNames.MatchString(line) {
			continue
		}
		parts := strictOption.FindStringSubmatch(line)
		if parts == nil {
			t.Fatalf("the line %q can be read in more than one way", line)
		}
		if dangerous.MatchString(parts[1]) && !ours[parts[1]] {
			t.Fatalf("rendered %q", line)
		}
		if strings.Contains(parts[2], "/") && parts[1] != "bssplit" && parts[1] != "random_distribution" {
			t.Fatalf("a path in %q", line)
		}
		if parts[1] == "ioengine" && !strictEngine.MatchString(parts[2]) {
			t.Fatalf("rendered %q", line)
		}
	}
	if globals != 1 {
		t.Fatalf("%d global sections", globals)
	}
}
