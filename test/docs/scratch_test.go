package docs_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/storagebench/storagebench/internal/cli"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/binaries"
)

// TestMain runs this project's program if the test binary is called by that program's name. Documented commands
// therefore run the code that was compiled with the test.
func TestMain(m *testing.M) {
	arguments := os.Args[1:]
	switch filepath.Base(os.Args[0]) {
	case "kubectl":
		if len(arguments) == 0 || arguments[0] != "storagebench" {
			_, _ = fmt.Fprintln(os.Stderr, "there is no kubectl here, only its plugin")
			os.Exit(1)
		}
		arguments = arguments[1:]
	case "kubectl-storagebench":
	default:
		os.Exit(m.Run())
	}
	os.Exit(cli.Main(arguments, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// scratch is a directory in which the commands of a page run in order.
type scratch struct {
	t      *testing.T
	folder string
	path   string
}

func newScratch(t *testing.T, name string) *scratch {
	t.Helper()
	folder := t.TempDir()
	made := &scratch{t: t, folder: filepath.Join(folder, "work"), path: filepath.Join(folder, "path")}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{made.path, filepath.Join(made.folder, "bin")} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{
		filepath.Join(made.path, "kubectl"):                    program,
		filepath.Join(made.path, "kubectl-storagebench"):       program,
		filepath.Join(made.folder, "bin/kubectl-storagebench"): program,
	}
	for _, folder := range []string{"charts", "config", "docs"} {
		absolute, err := filepath.Abs(filepath.Join(root, folder))
		if err != nil {
			t.Fatal(err)
		}
		links[filepath.Join(made.folder, folder)] = absolute
	}
	for at, to := range links {
		if err := os.Symlink(to, at); err != nil {
			t.Fatal(err)
		}
	}
	made.fill(name)
	return made
}

// run runs a command line and returns its standard output, or all output if it fails. An exit status that reports an
// insufficient result is not a failure.
func (s *scratch) run(line string) (string, error) {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), "bash", "-euo", "pipefail", "-c", line)
	command.Dir = s.folder
	command.Env = []string{"PATH=" + s.path + ":" + os.Getenv("PATH"), "HOME=" + s.folder, "KUBECONFIG=" + s.folder + "/none", "LANG=C.UTF-8"}
	var out, problem strings.Builder
	command.Stdout, command.Stderr = &out, &problem
	var exit *exec.ExitError
	err := command.Run()
	if errors.As(err, &exit) && (exit.ExitCode() == report.ExitMissed || exit.ExitCode() == report.ExitInvalid) {
		err = nil
	}
	if err != nil {
		return out.String() + problem.String(), err
	}
	return out.String(), nil
}

// helmProgram builds helm once and returns its path.
func helmProgram(t *testing.T) string {
	t.Helper()
	path, err := helmPath()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var helmPath = sync.OnceValues(func() (string, error) { return binaries.Tool("helm") })
