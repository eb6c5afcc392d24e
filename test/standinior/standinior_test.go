package standinior_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/standinior"
)

const ranks = 3

// outcome is the result of a program.
type outcome struct {
	stdout, stderr string
	exit           ior.Exit
	took           time.Duration
}

func run(t *testing.T, folder, program string, arguments ...string) outcome {
	t.Helper()
	command := exec.CommandContext(t.Context(), "mpirun", append([]string{"--oversubscribe", "-np", "3", program}, arguments...)...)
	var stdout, stderr bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = folder, &stdout, &stderr
	command.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_mpi_yield_when_idle=1")
	began := time.Now()
	err := command.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), ior.Exit{Code: command.ProcessState.ExitCode()}, time.Since(began)} //nolint:forbidigo // a part is held against the whole, however long that took
}

func standIns(t *testing.T) standinior.Programs {
	t.Helper()
	programs, err := standinior.StandIns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

func profile(change func(*v1alpha1.IORProfile)) *v1alpha1.IORProfile {
	p := &v1alpha1.IORProfile{
		TransferSize: resource.MustParse("16Ki"), BlockSize: resource.MustParse("128Ki"), Segments: new(int64(4)), DataPattern: "Offset",
		Operations: []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead},
	}
	if change != nil {
		change(p)
	}
	return p
}

// whole is the number of bytes of three ranks with four segments of 128 KiB each.
const whole = ranks * 4 * 128 << 10

// workloads run with the stand-in, and for comparison with the real IOR.
var workloads = map[string]struct {
	change     func(*v1alpha1.IORProfile)
	parameters ior.Parameters
	// bytes is the number of bytes of each repetition, and repetitions the number of repetitions of each operation.
	bytes       int64
	repetitions int
}{
	"a file each":        {nil, ior.Parameters{}, whole, 1},
	"repetitions":        {func(p *v1alpha1.IORProfile) { p.Repetitions = new(int32(3)) }, ior.Parameters{}, whole, 3},
	"prepare":            {nil, ior.Parameters{Purpose: ior.Prepare}, whole, 1},
	"direct":             {func(p *v1alpha1.IORProfile) { p.Direct = new(true) }, ior.Parameters{}, whole, 1},
	"random":             {func(p *v1alpha1.IORProfile) { p.Random = new(true) }, ior.Parameters{}, whole, 1},
	"shared":             {func(p *v1alpha1.IORProfile) { p.FilePerProcess = new(false) }, ior.Parameters{}, whole, 1},
	"verify, timestamps": {func(p *v1alpha1.IORProfile) { p.Verify, p.DataPattern = new(true), "Timestamp" }, ior.Parameters{Seed: 7}, whole, 1},
	"verify, offsets":    {func(p *v1alpha1.IORProfile) { p.Verify, p.FilePerProcess = new(true), new(false) }, ior.Parameters{Seed: 1 << 40}, whole, 1},
	"MPI, collective": {func(p *v1alpha1.IORProfile) {
		p.API, p.Collective, p.FilePerProcess = "MPIIO", new(true), new(false)
	}, ior.Parameters{}, whole, 1},
	"MPI, a file each, barriers": {func(p *v1alpha1.IORProfile) {
		p.API, p.IntraTestBarriers, p.ReorderTasks = "MPIIO", new(true), v1alpha1.IORReorderRandom
	}, ior.Parameters{}, whole, 1},
	"existing files, table": {func(p *v1alpha1.IORProfile) {
		p.UseExistingFiles, p.Operations = new(true), []v1alpha1.Operation{v1alpha1.OperationWrite}
	}, ior.Parameters{Version: "3.3.0"}, whole, 1},
	"shared, random": {func(p *v1alpha1.IORProfile) {
		p.FilePerProcess, p.Random, p.Operations = new(false), new(true), []v1alpha1.Operation{v1alpha1.OperationWrite}
	}, ior.Parameters{}, whole, 1},
}

// do runs a workload, and returns its result and the folder with its files.
func do(t *testing.T, program, name string) (ior.Result, string) {
	t.Helper()
	workload := workloads[name]
	parameters := workload.parameters
	if parameters.Purpose == 0 {
		parameters.Purpose = ior.Measure
	}
	p := profile(workload.change)
	arguments, err := ior.Arguments(p, parameters)
	if err != nil {
		t.Fatal(err)
	}
	expected, err := ior.Expect(p, parameters, ranks)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	// The delay makes repetitions so long that their times, which have four decimals, would expose wrong byte counts.
	// Neither program delays reads that it verifies.
	done := run(t, folder, program, append(arguments, "-G", "7", "-O", "interIODelay=1000")...)
	stream := ior.Stream{Segments: ior.SegmentsOf(arguments)} // as the agent reads it
	if _, err := io.WriteString(&stream, done.stdout); err != nil {
		t.Fatal(err)
	}
	output := stream.Close()
	result := ior.Final(output, done.exit, done.stderr, expected)
	if result.Outcome != ior.Complete {
		t.Fatalf("%s %v: %s\n%s%s", program, arguments, result.Message, done.stdout, done.stderr)
	}
	for _, repetition := range output.Repetitions {
		if time.Duration(repetition.TotalNanoseconds) > done.took {
			t.Errorf("%+v took longer than the whole program, %v", repetition, done.took)
		}
	}
	return result, folder
}

// TestWorkloads checks that the product can read the stand-in's output, and that the files on disk are those that the
// workload defines.
func TestWorkloads(t *testing.T) {
	for name, workload := range workloads {
		t.Run(name, func(t *testing.T) {
			result, folder := do(t, standIns(t).IOR, name)
			counts := map[measure.Operation]int{}
			for _, repetition := range result.Output.Repetitions {
				counts[repetition.Operation]++
				if repetition.Bytes != workload.bytes || !repetition.BytesExact || repetition.Tasks != ranks {
					t.Errorf("%+v: want %d bytes of %d ranks", repetition, workload.bytes, ranks)
				}
			}
			for operation, count := range counts {
				if count != workload.repetitions {
					t.Errorf("%d repetitions of %v, want %d", count, operation, workload.repetitions)
				}
			}
			traits, err := ior.Describe(profile(workload.change), 1, ranks)
			if err != nil {
				t.Fatal(err)
			}
			sizes := map[string]uint64{}
			for name, data := range files(t, folder) {
				sizes[name] = uint64(len(data))
			}
			if diff := cmp.Diff(traits.FileSizes, sizes); diff != "" {
				t.Errorf("files and their sizes:\n%s", diff)
			}
		})
	}
}

// TestSameAsReal checks that the real IOR writes the same bytes to the same places and reports the same work.
func TestSameAsReal(t *testing.T) {
	program := os.Getenv(standinior.IORVariable)
	if program == "" {
		t.Skipf("%s names no real IOR", standinior.IORVariable)
	}
	for name := range workloads {
		t.Run(name, func(t *testing.T) {
			theirs, realFolder := do(t, program, name)
			own, ownFolder := do(t, standIns(t).IOR, name)
			work := func(result ior.Result) []ior.Repetition {
				var all []ior.Repetition
				for _, r := range result.Output.Repetitions {
					all = append(all, ior.Repetition{Operation: r.Operation, Test: r.Test, Index: r.Index, BlockBytes: r.BlockBytes,
						TransferBytes: r.TransferBytes, Tasks: r.Tasks, Bytes: r.Bytes, BytesExact: r.BytesExact})
				}
				return all
			}
			if diff := cmp.Diff(work(theirs), work(own)); diff != "" {
				t.Errorf("work differs from the real IOR's:\n%s", diff)
			}
			realFiles, ownFiles := files(t, realFolder), files(t, ownFolder)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(realFiles)), slices.Sorted(maps.Keys(ownFiles))); diff != "" {
				t.Fatalf("files differ from the real IOR's:\n%s", diff)
			}
			for file, data := range realFiles {
				if name == "shared, random" { // Which rank writes which block is random.
					continue
				}
				if !bytes.Equal(data, ownFiles[file]) {
					t.Errorf("%s differs from the real IOR's file from byte %d on", file, firstDifference(data, ownFiles[file]))
				}
			}
		})
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func files(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(folder, name))
		found[name] = data
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestTimes checks the options that depend on time. A stonewall ends a repetition on time, and the repetition reports
// the bytes on disk. With wear-out, and before ranks read each other's files, all ranks write equally much. A load that
// is too small for its duration starts again.
func TestTimes(t *testing.T) {
	second := v1alpha1.Duration("1s")
	for name, test := range map[string]struct {
		change     func(*v1alpha1.IORProfile)
		parameters ior.Parameters
		// least is the minimum duration of a repetition in seconds. The maximum is 30 s, so that a short stall of the machine
		// does not matter: without an end in time, all of them would take a quarter of an hour or more.
		least float64
		check func(t *testing.T, result ior.Result, sizes []int)
	}{
		"stonewall": {func(p *v1alpha1.IORProfile) { p.Stonewall = &second }, ior.Parameters{}, 1, func(t *testing.T, result ior.Result, sizes []int) {
			written, all := result.Output.Repetitions[0], 0
			for _, size := range sizes {
				all += size
			}
			if written.Bytes != int64(all) || result.Output.StonewallHit == 0 {
				t.Errorf("%d bytes on the disk, %+v", all, written)
			}
		}},
		"wearing out": {func(p *v1alpha1.IORProfile) { p.Stonewall, p.StonewallWearOut = &second, new(true) }, ior.Parameters{}, 1, func(t *testing.T, result ior.Result, sizes []int) {
			if slices.Min(sizes) != slices.Max(sizes) || len(result.Output.Stonewalled) != 1 {
				t.Errorf("ranks that were evened wrote %v; %+v", sizes, result.Output.Stonewalled)
			}
		}},
		"reading another's file": {func(p *v1alpha1.IORProfile) {
			p.Operations, p.ReorderTasks = []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}, v1alpha1.IORReorderRandom
		}, ior.Parameters{Duration: 2 * time.Second}, 1, func(t *testing.T, result ior.Result, sizes []int) {
			if slices.Min(sizes) != slices.Max(sizes) || len(result.Output.Repetitions) != 2 {
				t.Errorf("ranks wrote %v; %+v", sizes, result.Output.Repetitions)
			}
		}},
		"begun again": {func(p *v1alpha1.IORProfile) { p.Segments = new(int64(1)) }, ior.Parameters{Duration: 2 * time.Second}, 2, func(t *testing.T, result ior.Result, sizes []int) {
			if got := result.Output.Repetitions[0].Bytes; got <= int64(sizes[0]*len(sizes)) {
				t.Errorf("%d bytes in files of %v: it did not begin again", got, sizes)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := profile(func(p *v1alpha1.IORProfile) {
				p.Operations, p.Segments = []v1alpha1.Operation{v1alpha1.OperationWrite}, new(int64(100_000))
				p.Args = []string{"-O", "interIODelay=2000"} // Do not fill the disk.
				test.change(p)
			})
			test.parameters.Purpose = ior.Measure
			arguments, err := ior.Arguments(p, test.parameters)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			done := run(t, folder, standIns(t).IOR, arguments...)
			output, err := ior.ReadOutput(strings.NewReader(done.stdout))
			if err != nil {
				t.Fatal(err)
			}
			result := ior.Final(output, done.exit, done.stderr, ior.Expectation{Tasks: ranks})
			if result.Outcome != ior.Complete {
				t.Fatalf("%s\n%s%s", result.Message, done.stdout, done.stderr)
			}
			var sizes []int
			for _, data := range files(t, folder) {
				sizes = append(sizes, len(data))
			}
			if took := float64(output.Repetitions[0].TotalNanoseconds) / 1e9; took < test.least || took > 30 {
				t.Errorf("a repetition took %.2f s, want %g, and 30 at most", took, test.least)
			}
			test.check(t, result, sizes)
		})
	}
}

// TestRefusals checks that the stand-in fails with IOR's exit codes and messages, so that the product classifies the
// failures as those of IOR.
func TestRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		exit      int
		failure   ior.Failure
	}{
		"no such option": {[]string{"--no-such-option"}, 1, ior.FailureBadOption},
		"no such number": {[]string{"-i", "many"}, 1, ior.FailureBadOption},
		"half a block":   {[]string{"-t", "3m", "-b", "4m", "-w"}, 255, ior.FailureBadOption},
		"no file":        {[]string{"-r", "-F", "-o", "nowhere"}, 255, ior.FailureNoSuchFile},
		"no folder":      {[]string{"-w", "-F", "-o", "/dev/full/file"}, 255, ior.FailureNoSuchFile},
		"a full disk":    {[]string{"-w", "-E", "-k", "-o", "/dev/full"}, 134, ior.FailureNoSpace},
	} {
		t.Run(name, func(t *testing.T) {
			done := run(t, t.TempDir(), standIns(t).IOR, append(test.arguments, "-O", "summaryFormat=CSV")...)
			output, err := ior.ReadOutput(strings.NewReader(done.stdout))
			if err != nil {
				t.Fatal(err)
			}
			if result := ior.Final(output, done.exit, done.stderr, ior.Expectation{}); result.Outcome != ior.Failed || result.Failure != test.failure || done.exit.Code != test.exit {
				t.Errorf("%v %v, exit %d, want %v and exit %d\n%s%s", result.Outcome, result.Failure, done.exit.Code, test.failure, test.exit, done.stdout, done.stderr)
			}
		})
	}
}

// TestFailedSync checks that a failed fsync is only a warning, as in IOR: the exit code is 0, but the product must
// report an I/O failure. /dev/null does not support fsync.
func TestFailedSync(t *testing.T) {
	done := run(t, t.TempDir(), standIns(t).IOR, "-w", "-e", "-E", "-k", "-o", "/dev/null", "-O", "summaryFormat=CSV")
	output, err := ior.ReadOutput(strings.NewReader(done.stdout))
	if err != nil {
		t.Fatal(err)
	}
	result := ior.Final(output, done.exit, done.stderr, ior.Expectation{})
	if result.Failure != ior.FailureIO || done.exit.Code != 0 {
		t.Errorf("%v %v, exit %d\n%s%s", result.Outcome, result.Failure, done.exit.Code, done.stdout, done.stderr)
	}
}

// TestSaysWhatItIs checks that the stand-ins identify themselves in their help, version and output.
func TestSaysWhatItIs(t *testing.T) {
	programs := standIns(t)
	for _, line := range [][]string{
		{programs.IOR, "--help"}, {programs.Mdtest, "--help"}, append([]string{programs.IOR}, ior.VersionArguments()...),
		{programs.Mdtest, "-n", "1", "-d", "made"},
	} {
		done := run(t, t.TempDir(), line[0], line[1:]...)
		if !strings.Contains(done.stdout, "stand-in of storagebench's tests") {
			t.Errorf("%v does not say what it is:\n%s%s", line, done.stdout, done.stderr)
		}
	}
	// None of the ways to query the version may write files.
	for _, question := range [][]string{ior.VersionArguments(), {"-a", "DUMMY", "-w", "-t", "8", "-b", "8", "-o", "nothing"}} {
		folder := t.TempDir()
		output, err := ior.ReadOutput(strings.NewReader(run(t, folder, programs.IOR, question...).stdout))
		if left := files(t, folder); err != nil || output.Version != "4.0.0+standin" || len(left) > 0 {
			t.Errorf("%v: version %q %v, files %v", question, output.Version, err, left)
		}
	}
	folder := t.TempDir()
	output, err := ior.ReadMdtestOutput(strings.NewReader(run(t, folder, programs.Mdtest, "-a", "DUMMY", "-C", "-F", "-n", "1", "-d", "nothing").stdout))
	if left := files(t, folder); err != nil || output.Version != "4.0.0+standin" || len(left) > 0 {
		t.Errorf("mdtest: version %q %v, files %v", output.Version, err, left)
	}
}
