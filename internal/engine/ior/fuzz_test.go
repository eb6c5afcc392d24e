package ior

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// printedBandwidths matches every figure that could be a bandwidth. It does not use the parser.
var printedBandwidths = regexp.MustCompile(`(?:(?:write|read)[ \t,]+|"bwMiB" *: *)([0-9]+(?:\.[0-9]+)?)`)

// hostile lists inputs that have broken the parser or might.
var hostile = []string{
	"access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\nwrite,1,1,0,8,8,0,1,0,1,2,0\nwrite,1,1,0,8,8,0,1,0,1,2,",
	"access,iter,bw(MiB/s),total(s)\nwrite,0,18446744073709551616,1\nread,0,inf,nan\nwrite,1,-1,1\n",
	"access,bw(MiB/s),bw(MiB/s),total(s),iter\nwrite,1,2,3,0\n",
	"WARNING: foowrite,3512.1740,3545.3873,0.0006,8192.0000,1024.0000,0.0001,0.0090,0.0043,0.0091,2,0\n",
	"{\n\"Version\": \"4.0.0\", \n\"Results\": [\n{\n\"access\": \"write\", \n\"bwMiB\": 1, \n{\n\"access\": \"read\",\n}\n]\n\"Finished\": \"x\"\n}\n",
	"IOR-4.0.0: MPI Coordinated Test of Parallel I/O\ntasks : 99999999999999999999\nrepetitions : 9\nFinished : now\n",
	"3.3.0Sat Nov 21 07:30:42 2026ior",
	"[1,0]<stdout>:Sat Nov 21 07:13:54 2026[1,0]<stdout>:ERROR: x\n",
	"\r\n\x00\xff\xfe,,,,\n",
	// Lines that consist of spaces other than the ASCII space and tab.
	"access bw(MiB/s) total(s) iter\n\v\n\u00a0\n" + strings.Join(summaryHeading, " ") + "\n\f\n\u0085\n",
}

func FuzzStream(f *testing.F) {
	for _, run := range recordings(f) {
		if !run.mdtest() {
			f.Add(run.stdout, uint16(len(run.stdout)/2), uint8(7))
		}
	}
	for _, text := range hostile {
		f.Add(text, uint16(len(text)/2), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, cut uint16, step uint8) {
		segments := int64(cut % 5)
		whole := readTold(t, text, segments)
		stream := Stream{Segments: segments}
		var told []Repetition
		for rest := text; rest != ""; {
			n := min(len(rest), int(step)+1)
			_, _ = stream.Write([]byte(rest[:n]))
			told = append(told, stream.Repetitions()...)
			rest = rest[n:]
		}
		if pieces := stream.Close(); !reflect.DeepEqual(pieces, whole) {
			t.Fatalf("in pieces of %d it is another output:\n%+v\n%+v", int(step)+1, pieces, whole)
		}
		told = append(told, stream.Repetitions()...)
		if len(told)+len(whole.Repetitions) > 0 && !reflect.DeepEqual(told, whole.Repetitions) {
			t.Fatalf("the stream returned %v, the output has %v", told, whole.Repetitions)
		}
		early := readTold(t, text[:min(int(cut), len(text))], segments).Repetitions
		if len(early) > len(whole.Repetitions) || len(early) > 0 && !reflect.DeepEqual(early, whole.Repetitions[:len(early)]) {
			t.Fatalf("cut at %d it has repetitions that the whole does not: %v and %v", cut, early, whole.Repetitions)
		}
		checkResult(t, text, Final(whole, Exit{}, "", Expectation{}))
	})
}

func read(t *testing.T, text string) Output {
	t.Helper()
	output, err := ReadOutput(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// readTold is read with a known number of segments.
func readTold(t *testing.T, text string, segments int64) Output {
	t.Helper()
	stream := Stream{Segments: segments}
	if _, err := stream.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return stream.Close()
}

// checkResult checks what must hold for every result, independently of the code that computed it.
func checkResult(t *testing.T, text string, result Result) {
	t.Helper()
	if (result.Outcome == Failed || result.Outcome == CutShort) != (result.Failure != "") || result.Outcome < Complete || result.Outcome > Failed {
		t.Fatalf("outcome %v with failure %q", result.Outcome, result.Failure)
	}
	if result.Outcome == Failed {
		if len(result.Message) < 10 || len(result.Summary) > 0 {
			t.Fatalf("failed with message %q and summary %v", result.Message, result.Summary)
		}
		return
	}
	printed := map[int64]bool{}
	for _, match := range printedBandwidths.FindAllStringSubmatch(text, -1) {
		if value, err := strconv.ParseFloat(match[1], 64); err == nil {
			printed[int64(math.Round(min(value, 1e12)*mebibyte))] = true
		}
	}
	if len(result.Output.Repetitions) == 0 || len(result.Summary) == 0 {
		t.Fatal("a result without repetitions")
	}
	for _, repetition := range result.Output.Repetitions {
		if repetition.BytesPerSecond < 1e12*mebibyte && !printed[repetition.BytesPerSecond] {
			t.Fatalf("%d bytes/s are printed nowhere", repetition.BytesPerSecond)
		}
		if repetition.TotalNanoseconds < 0 || repetition.Bytes < 0 || repetition.BytesExact && repetition.Bytes == 0 {
			t.Fatalf("impossible: %+v", repetition)
		}
	}
	for _, summary := range result.Summary {
		if summary.MinBytesPerSecond > summary.MeanBytesPerSecond || summary.MeanBytesPerSecond > summary.MaxBytesPerSecond {
			t.Fatalf("mean outside of the extremes: %+v", summary)
		}
	}
	if result.Outcome != Complete {
		return
	}
	if result.Output.Format != FormatCSV && !strings.Contains(text, "Finished") {
		t.Fatal("complete, and nowhere is said that it finished")
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ERROR: ") || strings.HasPrefix(line, "ior ERROR: ") {
			t.Fatalf("complete in spite of %q", line)
		}
	}
	if strings.HasSuffix(text, ",") {
		t.Fatal("complete, and it ends inside of a row")
	}
}

// printedRates returns the operation and the mean of every line that could be a row. It does not use the parser.
func printedRates(text string) map[string]bool {
	printed := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		line = line[strings.LastIndex(line, ">:")+1:]
		fields := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(line, ":"), ":", " "))
		words := slices.IndexFunc(fields, func(field string) bool { return strings.Trim(field, "abcdefghijklmnopqrstuvwxyzDFT") != "" })
		if words < 2 || len(fields) < words+4 {
			continue
		}
		if mean, err := strconv.ParseFloat(fields[len(fields)-2], 64); err == nil {
			printed[strings.Join(fields[:words], " ")+strconv.FormatInt(int64(math.Round(mean*1000)), 10)] = true
		}
	}
	return printed
}

func FuzzMdtestStream(f *testing.F) {
	for _, run := range recordings(f) {
		if run.mdtest() {
			f.Add(run.stdout, uint8(7))
		}
	}
	for _, text := range []string{
		"SUMMARY rate: (of 1 iterations)\n   File creation   1 1 1 0\n   File creation   1 1 1 0\n-- finished at x --\n",
		"SUMMARY rate: (of 99999999999999999999 iterations)\n   File stat   inf -nan 1e308 nan\n   Tree removal 2 1 3 0\n-- finished at x --\n",
		"SUMMARY \nSUMMARY time: (of 1 iterations)\n   File stat 1 1 1 1\n-- finished at x --\n",
		"mdtest-9 was launched with 99999999999999999999 total task(s) on -1 node(s)\n   File",
		"SUMMARY \f\nSUMMARY rate: (of 1 iterations)\n\v\n[1,0]<stdout>: \u00a0\n",
	} {
		f.Add(text, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		whole, err := ReadMdtestOutput(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var stream MdtestStream
		for rest := text; rest != ""; {
			n := min(len(rest), int(step)+1)
			_, _ = stream.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if pieces := stream.Close(); !reflect.DeepEqual(pieces, whole) {
			t.Fatalf("in pieces of %d it is another output:\n%+v\n%+v", int(step)+1, pieces, whole)
		}
		result := FinalMdtest(whole, Exit{}, "", MdtestExpectation{})
		if result.Outcome != Complete {
			if result.Outcome != Failed || result.Failure == "" || len(result.Message) < 10 {
				t.Fatalf("outcome %v, failure %q, message %q", result.Outcome, result.Failure, result.Message)
			}
			return
		}
		if !strings.Contains(text, "SUMMARY rate") || !strings.Contains(text, "-- finished at ") || len(whole.Rates) == 0 {
			t.Fatalf("complete without a summary or an end: %+v", whole)
		}
		printed := printedRates(text)
		for _, rate := range whole.Rates {
			if !printed[rate.Operation+strconv.FormatInt(rate.MeanMilli, 10)] {
				t.Fatalf("%+v is printed nowhere", rate)
			}
		}
	})
}
