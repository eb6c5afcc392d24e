package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/soak"
)

// notShown is the exit code of `compare` if it could not show equivalence.
const notShown = 2

// TestLocalModeAgrees runs the quickstart unchanged, in the cluster and in local mode on the same directory, which is a
// store with a known rate. Two one-sided tests must show that the figures agree within 5 %. The store is not slower,
// because chance alone makes figures of ten seconds differ by 8 % at 15 MB/s (230 operations per second), but only by 1
// to 2 % at 60 MB/s.
func TestLocalModeAgrees(t *testing.T) {
	soak.Only(t)
	s := newSpace(t)
	store := s.burstClaim("data", model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 60e6}}})
	program, err := commandLine()
	must(t, err)
	file := filepath.Join(s.root, "config", "samples", "quickstart.yaml")
	results := t.TempDir()
	inCluster, here, again := filepath.Join(results, "cluster.json"), filepath.Join(results, "local.json"), filepath.Join(results, "again.json")
	call := func(command *exec.Cmd) (stdout string, code int) {
		t.Helper()
		var out, problems bytes.Buffer
		command.Stdout, command.Stderr = &out, &problems
		if err := command.Run(); err != nil && command.ProcessState == nil {
			t.Fatal(err)
		}
		t.Logf("%v: exit code %d\n%s", command.Args, command.ProcessState.ExitCode(), &problems)
		return out.String(), command.ProcessState.ExitCode()
	}
	save := func(file string, command *exec.Cmd) {
		t.Helper()
		text, code := call(command)
		if code != 0 {
			t.Fatalf("exit code %d\n%s", code, text)
		}
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	// same reports whether two results are shown to be equivalent. It fails the test if they cannot be compared.
	same := func(a, b string) bool {
		t.Helper()
		text, code := call(exec.Command(program, "compare", a, b, "--equivalent-within", "5"))
		t.Log(text)
		if code != 0 && code != notShown {
			t.Fatalf("exit code %d", code)
		}
		return code == 0
	}
	save(inCluster, exec.Command(program, "run", "-f", file, "-n", s.namespace, "--kubeconfig", s.State.Kubeconfig(), "-o", "json"))
	for _, result := range []string{here, again} {
		local, err := s.State.Enter(t.Context(), program, "run", "--local", "-f", file, "--target", "data="+store.Path(), "-o", "json")
		must(t, err)
		save(result, local)
	}
	s.clean()
	switch {
	case same(inCluster, here):
	case !same(here, again):
		soak.Inconclusive(t, "two local runs are not shown to be the same either")
	default:
		t.Error("the cluster and local mode are not shown to be the same, and two local runs are")
	}
}
