package ior

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

func recorded(t *testing.T, name string) recording {
	t.Helper()
	for _, run := range recordings(t) {
		if run.name == name {
			return run
		}
	}
	t.Fatalf("no recorded run %s", name)
	return recording{}
}

// TestOutcomes checks the outcome of each recorded run. The expected outcomes are listed by hand, because golden files
// are easily updated without looking at them.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	failed := map[string]Failure{
		"csv": FailureNoOutput, "error-bad-flag": FailureBadOption, "error-bad-size": FailureBadOption, "mdtest-bad-option": FailureBadOption,
		"error-missing-file-json": FailureNoSuchFile, "mdtest-error": FailureNoSuchFile, "csv-not-a-directory": FailureNoSuchFile, "wrong-data": FailureDataErrors,
	}
	cut := map[string]Outcome{"killed-json": CutShort, "killed-table": CutShort, "csv-rank-killed": CutShort, "csv-stopped": CutShort, "csv-tagged": CutShort}
	for _, run := range recordings(t) {
		version, name, _ := strings.Cut(run.name, "/")
		wanted, failure := Complete, failed[name]
		if failure != "" && (name != "csv" || version == "3.3.0") {
			wanted = Failed
		} else if cut[name] != "" {
			wanted = cut[name]
		}
		var got Outcome
		var reason Failure
		if run.mdtest() {
			output, err := ReadMdtestOutput(strings.NewReader(run.stdout))
			if err != nil {
				t.Fatal(err)
			}
			result := FinalMdtest(output, Exit{Code: run.code}, run.stderr, MdtestExpectation{})
			got, reason = result.Outcome, result.Failure
		} else {
			result := Final(read(t, run.stdout), Exit{Code: run.code}, run.stderr, Expectation{})
			got, reason = result.Outcome, result.Failure
		}
		if got != wanted || wanted == Failed && reason != failure {
			t.Errorf("%s: %v %s, want %v %s", run.name, got, reason, wanted, failure)
		}
	}
}

// TestEveryCut truncates an output at each byte. The repetitions before that byte must be found, and the output may
// count as complete only if no result is missing.
func TestEveryCut(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"4.0.0/csv", "3.3.0/stonewall-table", "4.0.0/stonewall-json", "3.3.0/shared-file-write-read-json"} {
		text := recorded(t, name).stdout
		whole := read(t, text)
		for cut := range text {
			output := read(t, text[:cut])
			if n := len(output.Repetitions); n > len(whole.Repetitions) || !slices.Equal(output.Repetitions, whole.Repetitions[:n]) {
				t.Fatalf("%s cut at %d: %+v", name, cut, output.Repetitions)
			}
			result := Final(output, Exit{}, "", Expectation{Repetitions: len(whole.Repetitions), Operations: []measure.Operation{measure.Write}})
			if result.Outcome == Complete && len(output.Repetitions) < len(whole.Repetitions) {
				t.Fatalf("only %s cut at %d of %d is complete with %d repetitions", name, cut, len(text), len(output.Repetitions))
			}
		}
	}
	text := recorded(t, "4.0.0/mdtest-files-dirs").stdout
	for cut := range text {
		output, err := ReadMdtestOutput(strings.NewReader(text[:cut]))
		if err != nil {
			t.Fatal(err)
		}
		if result := FinalMdtest(output, Exit{}, "", MdtestExpectation{}); result.Outcome == Complete && len(output.Rates) != 10 {
			t.Fatalf("cut at %d: complete with %d rates", cut, len(output.Rates))
		}
	}
}

// TestRowsAreDoubted checks that rows are refused if two ranks could have garbled them or if their figures contradict
// each other.
func TestRowsAreDoubted(t *testing.T) {
	t.Parallel()
	const heading = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n"
	const row = "write,3512.1740,3545.3873,0.0006,8192.0000,1024.0000,0.0001,0.0090,0.0043,0.0091,2,"
	for name, text := range map[string]string{
		"another bandwidth":   strings.Replace(row, "3512", "9512", 1) + "0\n",
		"another time":        strings.Replace(row, "0.0091", "0.9100", 1) + "0\n",
		"another rate":        strings.Replace(row, "3545", "354", 1) + "0\n",
		"a field more":        row + "0,0\n",
		"a field less":        row[:len(row)-2] + "0\n",
		"text in a field":     strings.Replace(row, "0.0006", "0.0WARNING: x", 1) + "0\n",
		"not a number":        strings.Replace(row, "3512.1740", "nan", 1) + "0\n",
		"negative":            strings.Replace(row, "3512", "-3512", 1) + "0\n",
		"an exponent":         strings.Replace(row, "3512.1740", "3e9", 1) + "0\n",
		"twice":               row + "0\n" + row + "0\n",
		"one missing":         row + "0\n" + row + "2\n",
		"inside of a line":    "WARNING: a warning without its end" + row + "0\n" + "x" + row + "1\n",
		"other bytes told":    "WARNING: Using actual aggregate bytes moved = 1048576\n" + row + "0\n",
		"reads fewer":         row + "0\n" + row + "1\n" + strings.Replace(row, "write", "read", 1) + "0\n",
		"an error after it":   row + "0\nERROR: open64(\"x\") failed: Input/output error, (aiori-POSIX.c:641)\n",
		"mpirun's own words":  row + "0\nmpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).\n",
		"the end of it":       row + "0\n" + row[:40],
		"a line without end":  row + "0\n" + strings.Repeat("x", 100_000) + "\n",
		"a foreign heading":   row + "0\naccess,bw(MiB/s),bw(MiB/s),total(s),iter\n",
		"a daemon was lost":   row + "0\nORTE has lost communication with a remote daemon.\n",
		"garbled in the tail": row + "0\n" + strings.Replace(row, "2,", "2", 1) + "1\n",
	} {
		result := Final(read(t, heading+text), Exit{}, "", Expectation{})
		if result.Outcome == Complete {
			t.Errorf("%s: complete: %+v", name, result.Output)
		}
	}
	good := Final(read(t, heading+row+"0\n"+row+"1\n"), Exit{}, "", Expectation{Repetitions: 2, Operations: []measure.Operation{measure.Write}, Tasks: 2})
	if good.Outcome != Complete || good.Output.Repetitions[1].Bytes != 32<<20 || !good.Output.Repetitions[1].BytesExact {
		t.Errorf("the row itself: %+v", good)
	}
	for name, expected := range map[string]Expectation{
		"repetitions": {Repetitions: 3, Operations: []measure.Operation{measure.Write}}, "ranks": {Tasks: 3},
		"operations": {Repetitions: 1, Operations: []measure.Operation{measure.Write, measure.Read}},
	} {
		if result := Final(read(t, heading+row+"0\n"), Exit{}, "", expected); result.Outcome != CutShort || result.Failure != FailureTruncated {
			t.Errorf("other %s: %v %s", name, result.Outcome, result.Message)
		}
	}
}

// TestOtherRanks checks that messages on standard error count like messages in the output.
func TestOtherRanks(t *testing.T) {
	t.Parallel()
	const rows = "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n" +
		"write,3512.1740,3545.3873,0.0006,8192.0000,1024.0000,0.0001,0.0090,0.0043,0.0091,2,0\n"
	for told, want := range map[string]Failure{
		"": "",
		"WARNING: The file \"t.bin.00000001\" exists already and will be overwritten\n":            "",
		"WARNING: Incorrect data on write (3 errors found).\n":                                     FailureDataErrors,
		"WARNING: fsync(5) failed\n":                                                               FailureIO,
		"ior WARNING: fsync(5) failed, errno 28, No space left on device \n":                       FailureNoSpace,
		"ior ERROR: open64(\"x\") failed, errno 28, No space left on device (aiori-POSIX.c:433)\n": FailureNoSpace,
	} {
		output := read(t, rows)
		output.AddMessages(read(t, told))
		result := Final(output, Exit{}, told, Expectation{})
		if result.Failure != want || len(result.Output.Errors) > 1 {
			t.Errorf("%q: %s: %s, errors %q", told, result.Failure, result.Message, result.Output.Errors)
		}
		if strings.Contains(told, "exists already") && !slices.ContainsFunc(result.Warnings, func(w Warning) bool {
			return w.Kind == WarnToolMessages && strings.Contains(w.Message, "exists already")
		}) {
			t.Errorf("%q is not among the warnings: %+v", told, result.Warnings)
		}
	}
}

// TestExpectations checks that the expectation of a step matches its arguments.
func TestExpectations(t *testing.T) {
	t.Parallel()
	both := iorProfile(func(p *v1alpha1.IORProfile) { p.Operations = []v1alpha1.Operation{"Write", "Read"} })
	for name, test := range map[string]struct {
		parameters Parameters
		wanted     Expectation
	}{
		"work":    {Parameters{Purpose: Measure}, Expectation{Repetitions: 1000, Operations: []measure.Operation{measure.Write, measure.Read}, Tasks: 8}},
		"prepare": {Parameters{Purpose: Prepare}, Expectation{Repetitions: 1, Operations: []measure.Operation{measure.Write}, Tasks: 8}},
		"drain":   {Parameters{Purpose: Measure, Limit: time.Hour}, Expectation{Limited: true, Operations: []measure.Operation{measure.Write, measure.Read}, Tasks: 8}},
		"steady":  {Parameters{Purpose: Measure, Duration: time.Minute}, Expectation{Repetitions: 1, Operations: []measure.Operation{measure.Write, measure.Read}, Tasks: 8}},
	} {
		got, err := Expect(both, test.parameters, 8)
		if err != nil || !reflect.DeepEqual(got, test.wanted) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	// A time limit may end a run between the write and the read of a repetition.
	text := recorded(t, "4.0.0/csv").stdout
	lines := strings.SplitAfter(text, "\n")
	short := strings.Join(lines[:4], "")
	if result := Final(read(t, short), Exit{}, "", Expectation{Limited: true}); result.Outcome != Complete {
		t.Errorf("limited: %v %s", result.Outcome, result.Message)
	}
	if result := Final(read(t, short), Exit{}, "", Expectation{}); result.Outcome != CutShort {
		t.Errorf("not limited: %v %s", result.Outcome, result.Message)
	}
}

// TestExitDecides checks that the outcome of the same rows depends on the exit status and the messages.
func TestExitDecides(t *testing.T) {
	t.Parallel()
	good, cut := recorded(t, "4.0.0/csv"), recorded(t, "4.0.0/csv-stopped")
	const aborted = "ior: aiori-POSIX.c:769: POSIX_Xfer: Assertion `rc >= 0' failed.\n[a:77] *** Process received signal ***\n" +
		"mpirun noticed that process rank 0 with PID 77 on node 10.0.0.3 exited on signal 6 (Aborted).\n"
	for _, test := range []struct {
		output, stderr string
		exit           Exit
		wanted         Outcome
		failure        Failure
	}{
		{good.stdout, "", Exit{}, Complete, ""},
		{good.stdout, "", Exit{Stopped: true}, Complete, ""},
		{good.stdout, "", Exit{Code: 1}, CutShort, FailureOther},
		{good.stdout, "", Exit{Signal: 9}, CutShort, FailureKilled},
		{cut.stdout, cut.stderr, Exit{Code: 1, Stopped: true}, Stopped, ""},
		{"", "", Exit{Code: 1, Stopped: true}, Stopped, ""},
		{"", "mpirun was unable to find the specified executable file\n", Exit{Code: 134}, Failed, FailureMPI},
		{good.stdout + "WARNING: fsync(5) failed\n", "", Exit{}, CutShort, FailureIO},
		{good.stdout + "WARNING: write(5, 0x7f, 1048576) failed No space left on device\n", aborted, Exit{Code: 134}, CutShort, FailureNoSpace},
		{good.stdout + "WARNING: write(5, 0x7f, 1048576) failed Connection timed out\n", aborted, Exit{Code: 134}, CutShort, FailureIO},
		{good.stdout + "WARNING: fsync(5) failed\n", "mpirun noticed that process rank 2 exited on signal 9 (Killed).\n", Exit{Code: 137, Stopped: true}, CutShort, FailureIO},
		{good.stdout + "WARNING: read(5, 0x7f, 1048576) failed Input/output error\nERROR: cannot read from file, (ior.c:1707)\n", "", Exit{Code: 255}, CutShort, FailureIO},
		{good.stdout, "ior ERROR: write(5, 0x7f, 1048576) failed, errno 28, No space left on device (aiori-POSIX.c:534)\n", Exit{Code: 255}, CutShort, FailureNoSpace},
		{good.stdout, "mpirun noticed that process rank 2 with PID 77 on node 10.0.0.3 exited on signal 9 (Killed).\n", Exit{Code: 137}, CutShort, FailureKilled},
		{"", "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n", Exit{Code: 137}, Failed, FailureKilled},
		{"", "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n", Exit{Code: 1}, Failed, FailureOther},
		{good.stdout, "prterun noticed that process rank 2 with PID 77 on node 10.0.0.3 exited on\nsignal 9 (Killed).\n", Exit{Code: 137}, CutShort, FailureKilled},
	} {
		result := Final(read(t, test.output), test.exit, test.stderr, Expectation{})
		if result.Outcome != test.wanted || result.Failure != test.failure {
			t.Errorf("%+v: %v %s %q, want %v %s", test.exit, result.Outcome, result.Failure, result.Message, test.wanted, test.failure)
		}
	}
}

// TestStonewallOfAllRanks checks the bandwidth until the stonewall, which 4.0.0 prints per rank and 3.3.0 for all
// ranks. With both versions, it must be close to transfers x transfer size / time.
func TestStonewallOfAllRanks(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.3.0", "4.0.0", "4.1.0-dev"} {
		for _, form := range []string{"table", "json"} {
			output := read(t, recorded(t, version+"/wearout-"+form).stdout)
			if len(output.Summaries) != 1 || len(output.Stonewalled) != 2 {
				t.Fatalf("%s %s: %+v", version, form, output)
			}
			var transfers, nanoseconds float64
			for _, wall := range output.Stonewalled {
				// With two ranks, the fastest and the slowest together are all ranks.
				transfers += float64(wall.MinTransfers + wall.MaxTransfers)
				nanoseconds += float64(wall.Nanoseconds)
			}
			wanted := transfers * 256 * 1024 / nanoseconds * 1e9
			if got := float64(output.Summaries[0].StonewallBytesPerSecond); got < wanted*0.9 || got > wanted*1.1 {
				t.Errorf("%s %s: %.0f bytes/s until the stonewall, the transfers say %.0f", version, form, got, wanted)
			}
		}
	}
}

// TestFormsAgree checks that the bytes of a repetition match its bandwidth and time within rounding, in every recording
// and output format.
func TestFormsAgree(t *testing.T) {
	t.Parallel()
	for _, run := range recordings(t) {
		if run.mdtest() {
			continue
		}
		for _, repetition := range read(t, run.stdout).Repetitions {
			product := float64(repetition.BytesPerSecond) * float64(repetition.TotalNanoseconds) / 1e9
			rounding := 5e-5*float64(repetition.BytesPerSecond) + 0.01*product + 1
			if difference := product - float64(repetition.Bytes); difference > rounding || difference < -rounding {
				t.Errorf("%s: %d bytes, its figures make %.0f", run.name, repetition.Bytes, product)
			}
		}
	}
}

// TestSegmentsTellTheBytes checks the bytes of reads that are too short to be computed from the digits of a row. The
// segments of the command determine the bytes, and a row that does not match them is damaged. IOR does not pause after
// reads that it verifies.
func TestSegmentsTellTheBytes(t *testing.T) {
	t.Parallel()
	run := recorded(t, "4.0.0/csv-verify")
	command, _, _ := strings.Cut(run.command, "\n")
	segments := SegmentsOf(strings.Fields(command))
	told := func(segments int64) Output { return readTold(t, run.stdout, segments) }
	const whole = 3 * 4 * 128 << 10
	by := func(output Output, operation measure.Operation) Repetition {
		at := slices.IndexFunc(output.Repetitions, func(r Repetition) bool { return r.Operation == operation })
		if at < 0 {
			t.Fatalf("no %v in %+v", operation, output)
		}
		return output.Repetitions[at]
	}
	if alone := by(told(0), measure.Read); alone.BytesExact {
		t.Fatalf("%+v: the recording is of too long a read to show anything", alone)
	}
	for _, operation := range []measure.Operation{measure.Write, measure.Read} {
		if one := by(told(segments), operation); one.Bytes != whole || !one.BytesExact {
			t.Errorf("%d segments: %+v, want %d bytes", segments, one, whole)
		}
	}
	if other := told(2 * segments); len(other.Damaged) == 0 || len(other.Repetitions) > 0 {
		t.Errorf("twice the segments: %+v", other)
	}
	for text, want := range map[string]int64{"-w -s 12": 12, "-w": 0, "-w -s": 0, "-s many": 0} {
		if got := SegmentsOf(strings.Fields(text)); got != want {
			t.Errorf("%q: %d segments, want %d", text, got, want)
		}
	}
}

// TestSegmentsOfEveryRecording checks that the number of segments of a recording contradicts none of its rows and
// changes no byte count that is exact without it.
func TestSegmentsOfEveryRecording(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, run := range recordings(t) {
		command, _, _ := strings.Cut(run.command, "\n")
		segments := SegmentsOf(strings.Fields(command))
		if run.mdtest() || segments == 0 {
			continue
		}
		without, with := read(t, run.stdout), readTold(t, run.stdout, segments)
		if len(with.Repetitions) != len(without.Repetitions) || !reflect.DeepEqual(with.Damaged, without.Damaged) {
			t.Errorf("%s: %+v, without segments %+v", run.name, with, without)
			continue
		}
		for i, one := range with.Repetitions {
			seen++
			if !one.BytesExact || without.Repetitions[i].BytesExact && one != without.Repetitions[i] {
				t.Errorf("%s: %+v, without segments %+v", run.name, one, without.Repetitions[i])
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d repetitions", seen)
	}
}

// TestMdtestCountsFailures checks that a run with failed operations has no result, because mdtest includes them in its
// rates.
func TestMdtestCountsFailures(t *testing.T) {
	t.Parallel()
	good := recorded(t, "4.0.0/mdtest-files-dirs").stdout
	for text, wanted := range map[string]Failure{
		strings.Replace(good, "\nSUMMARY", "\nWARNING: unable to stat file x\nSUMMARY", 1):                    FailureOperations,
		strings.Replace(good, "\nSUMMARY", "\nior WARNING: fsync(5) failed\nSUMMARY", 1):                      FailureIO,
		strings.Replace(good, "SUMMARY rate", "SUMMARY time", 1):                                              FailureNoOutput,
		strings.Replace(good, "50102.928", "50102.9x8", 1):                                                    FailureInvalidOutput,
		strings.Replace(good, "44224.089", "94224.089", 1):                                                    FailureInvalidOutput,
		strings.Replace(good, "Directory stat   ", "Directory creation", 1):                                   FailureInvalidOutput,
		strings.Replace(good, "\n-- finished at", "\n11/21/2026 07:31:19: Process 1: FAILED in main, x\n", 1): FailureOther,
		strings.Split(good, "-- finished")[0]:                                                                 FailureTruncated,
		strings.Split(good, "SUMMARY")[0]:                                                                     FailureTruncated,
	} {
		output, err := ReadMdtestOutput(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if result := FinalMdtest(output, Exit{}, "", MdtestExpectation{}); result.Outcome != Failed || result.Failure != wanted {
			t.Errorf("%v %s %q, want %s", result.Outcome, result.Failure, result.Message, wanted)
		}
	}
}

// TestStreamTellsAtOnce checks that the stream returns a repetition as soon as its line is complete.
func TestStreamTellsAtOnce(t *testing.T) {
	t.Parallel()
	var stream Stream
	told := 0
	for line := range strings.Lines(recorded(t, "4.0.0/csv-stonewall").stdout) {
		_, _ = stream.Write([]byte(line))
		found := stream.Repetitions()
		if isRow := strings.HasPrefix(line, "write,"); isRow != (len(found) == 1) {
			t.Errorf("%d repetitions after %q", len(found), line)
		}
		told += len(found)
	}
	if told != 3 {
		t.Errorf("%d repetitions", told)
	}
}

// TestMemoryIsBounded checks that endless output does not accumulate in memory.
func TestMemoryIsBounded(t *testing.T) {
	var stream Stream
	var mdtest MdtestStream
	warning := []byte(strings.Repeat("x", 3000) + "\n")
	for i := range 20_000 {
		for _, text := range [][]byte{warning, fmt.Appendf(nil, "WARNING: %d %s", i, warning), fmt.Appendf(nil, "ERROR: %d %s", i, warning), warning[:len(warning)-1]} {
			_, _ = stream.Write(text)
			_, _ = mdtest.Write(text)
		}
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	if memory.HeapAlloc > 64<<20 {
		t.Errorf("%d bytes are kept", memory.HeapAlloc)
	}
	if output := stream.Close(); len(output.Errors) != maxKept || len(output.Warnings) != maxKept || output.MoreWarnings == 0 {
		t.Errorf("%d errors, %d warnings", len(output.Errors), len(output.Warnings))
	}
	_ = mdtest.Close()
}
