package ior

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// runReal runs a real tool with two ranks. An environment variable holds its path, because no package registry has it.
func runReal(t *testing.T, variable, directory string, arguments []string) (string, string, Exit) {
	t.Helper()
	binary := os.Getenv(variable)
	if binary == "" {
		t.Skipf("%s names no binary", variable)
	}
	timeout, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(timeout, "mpirun", append([]string{"--oversubscribe", "-np", "2", binary}, arguments...)...) // #nosec G204 -- a test's own
	var stdout, stderr bytes.Buffer
	command.Dir, command.Stdout, command.Stderr = directory, &stdout, &stderr
	command.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	err := command.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), Exit{Code: command.ProcessState.ExitCode()}
}

// TestRealIOR checks that the real tool accepts the arguments and does what they ask for. IOR_BINARY is its path, and
// IOR_VERSION its version if older than 4.0.0.
func TestRealIOR(t *testing.T) {
	both := []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}
	second := v1alpha1.Duration("1s")
	old := strings.HasPrefix(os.Getenv("IOR_VERSION"), "3.")
	for name, test := range map[string]struct {
		change     func(*v1alpha1.IORProfile)
		parameters Parameters
		// writes and reads are the numbers of repetitions, bytes is the size of each; 0 if unknown.
		writes, reads int
		bytes         int64
	}{
		"write and read": {func(p *v1alpha1.IORProfile) { p.Operations, p.Repetitions = both, new(int32(3)) }, Parameters{}, 3, 3, 8 << 20},
		"prepare":        {func(p *v1alpha1.IORProfile) { p.Operations, p.Repetitions = both, new(int32(3)) }, Parameters{Purpose: Prepare}, 1, 0, 8 << 20},
		"direct, random": {func(p *v1alpha1.IORProfile) { p.Direct, p.Random = new(true), new(true) }, Parameters{}, 1, 0, 8 << 20},
		"shared, MPIIO, collective": {func(p *v1alpha1.IORProfile) {
			p.API, p.Collective, p.FilePerProcess, p.Operations = "MPIIO", new(true), new(false), both
		}, Parameters{}, 1, 1, 8 << 20},
		"random order of ranks, barriers, no fsync": {func(p *v1alpha1.IORProfile) {
			p.ReorderTasks, p.Operations, p.IntraTestBarriers, p.Fsync = v1alpha1.IORReorderRandom, both, new(true), new(false)
		}, Parameters{}, 1, 1, 8 << 20},
		"verify": {func(p *v1alpha1.IORProfile) {
			p.Verify, p.Operations, p.DataPattern = new(true), both, "Offset"
		}, Parameters{Seed: 5}, 1, 1, 8 << 20},
		"time":              {nil, Parameters{Duration: 2 * time.Second}, 1, 0, 0},
		"stonewall in time": {func(p *v1alpha1.IORProfile) { p.Stonewall, p.StonewallWearOut = &second, new(true) }, Parameters{Duration: 3 * time.Second}, 3, 0, 0},
		"args": {func(p *v1alpha1.IORProfile) {
			p.Args = []string{"-v", "-x", "-Y", "-d=1", "-j", "100", "-Q", "1"}
			if !old {
				p.Random, p.Args = new(true), append(p.Args, "-O", "interIODelay=1", "--random-offset-seed=3", "--randomPrefill=1m", "--posix.rangelocks")
			}
		}, Parameters{}, 1, 0, 8 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			profile := &v1alpha1.IORProfile{TransferSize: resource.MustParse("64Ki"), BlockSize: resource.MustParse("1Mi"), Segments: new(int64(4))}
			if test.change != nil {
				test.change(profile)
			}
			if test.parameters.Purpose == 0 {
				test.parameters.Purpose = Measure
			}
			test.parameters.Version = os.Getenv("IOR_VERSION")
			arguments, err := Arguments(profile, test.parameters)
			if err != nil {
				t.Fatal(err)
			}
			stdout, stderr, exit := runReal(t, "IOR_BINARY", t.TempDir(), arguments)
			expected, err := Expect(profile, test.parameters, 2)
			if err != nil {
				t.Fatal(err)
			}
			result := Final(read(t, stdout), exit, stderr, expected)
			if result.Outcome != Complete {
				t.Fatalf("ior %v: %v %s\n%s%s", arguments, result.Outcome, result.Message, stdout, stderr)
			}
			counts := map[measure.Operation]int{}
			for _, repetition := range result.Output.Repetitions {
				counts[repetition.Operation]++
				if test.bytes > 0 && (repetition.Bytes != test.bytes || !repetition.BytesExact) {
					t.Errorf("%+v moved other than %d bytes", repetition, test.bytes)
				}
				if wanted := test.parameters.Duration; wanted > 0 && !old && repetition.TotalNanoseconds < int64(wanted)/int64(test.writes)*9/10 {
					t.Errorf("%+v is shorter than its time", repetition)
				}
			}
			if counts[measure.Write] != test.writes || counts[measure.Read] != test.reads {
				t.Errorf("ior %v: %v repetitions\n%s", arguments, counts, stdout)
			}
		})
	}
}

// TestRealMdtest checks that the real mdtest accepts the arguments and completes. MDTEST_BINARY is its path.
func TestRealMdtest(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.MdtestProfile){
		"plain": nil,
		"files in a tree": func(p *v1alpha1.MdtestProfile) {
			p.FilesOnly, p.FileSize, p.Depth, p.Branching = new(true), new(resource.MustParse("3901")), new(int32(2)), new(int32(2))
			p.Args = []string{"-L", "-y", "-X", "-R", "--random-seed=3"}
		},
		"neighbour's files": func(p *v1alpha1.MdtestProfile) {
			p.UniqueDirectories, p.Depth, p.Branching, p.Args = nil, new(int32(2)), new(int32(2)), []string{"-N", "1"}
		},
		"directories": func(p *v1alpha1.MdtestProfile) { p.DirectoriesOnly, p.Args = new(true), []string{"-t"} },
	} {
		t.Run(name, func(t *testing.T) {
			profile := mdtestProfile(func(p *v1alpha1.MdtestProfile) {
				p.FilesPerProcess, p.Iterations = 28, new(int32(2))
				if change != nil {
					change(p)
				}
			})
			arguments, err := MdtestArguments(profile, Parameters{Purpose: Measure, Version: os.Getenv("IOR_VERSION")})
			if err != nil {
				t.Fatal(err)
			}
			stdout, stderr, exit := runReal(t, "MDTEST_BINARY", t.TempDir(), arguments)
			output, err := ReadMdtestOutput(strings.NewReader(stdout))
			if err != nil {
				t.Fatal(err)
			}
			if result := FinalMdtest(output, exit, stderr, MdtestExpectation{Iterations: 2, Tasks: 2}); result.Outcome != Complete {
				t.Errorf("mdtest %v: %v %s\n%s%s", arguments, result.Outcome, result.Message, stdout, stderr)
			}
		})
	}
}

// TestRealVersion checks that the real tool prints its version for VersionArguments without writing files.
func TestRealVersion(t *testing.T) {
	directory := t.TempDir()
	stdout, _, _ := runReal(t, "IOR_BINARY", directory, VersionArguments())
	output := read(t, stdout)
	if wanted := os.Getenv("IOR_VERSION"); output.Version == "" || wanted != "" && output.Version != wanted {
		t.Errorf("version %q: %s", output.Version, stdout)
	}
	if result := Final(output, Exit{}, "", Expectation{}); result.Outcome != Failed {
		t.Errorf("a dry run is %v", result.Outcome)
	}
	if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
		t.Errorf("it left %v %v", left, err)
	}
}

// TestRealVerifyAcrossSteps checks that a step verifies data that another step laid out, and detects modified data.
func TestRealVerifyAcrossSteps(t *testing.T) {
	directory, version := t.TempDir(), os.Getenv("IOR_VERSION")
	profile := &v1alpha1.IORProfile{
		TransferSize: resource.MustParse("64Ki"), BlockSize: resource.MustParse("1Mi"), Segments: new(int64(4)), Verify: new(true),
		Operations: []v1alpha1.Operation{v1alpha1.OperationRead}, Repetitions: new(int32(2)),
	}
	run := func(purpose Purpose) Result {
		arguments, err := Arguments(profile, Parameters{Purpose: purpose, Version: version, Seed: 1 << 60})
		if err != nil {
			t.Fatal(err)
		}
		stdout, stderr, exit := runReal(t, "IOR_BINARY", directory, arguments)
		return Final(read(t, stdout), exit, stderr, Expectation{})
	}
	if laidOut, checked := run(Prepare), run(Measure); laidOut.Outcome != Complete || checked.Outcome != Complete {
		t.Fatalf("%s, %s", laidOut.Message, checked.Message)
	}
	traits, err := Describe(profile, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range traits.FileSizes {
		if info, err := os.Stat(filepath.Join(directory, name)); err != nil || uint64(info.Size()) != size { // #nosec G115 -- a file's size
			t.Errorf("%s: %v %v, want %d bytes", name, info, err, size)
		}
	}
	file, err := os.OpenFile(filepath.Join(directory, FileName+".00000001"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("changed!"), 300_000); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if changed := run(Measure); changed.Outcome != Failed || changed.Failure != FailureDataErrors {
		t.Errorf("%v %s", changed.Outcome, changed.Message)
	}
}
