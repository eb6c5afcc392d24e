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

// TestLocalModeAgrees runs the quickstart as it stands in the cluster and in local mode on the same directory, which is a
// store of a known rate: two one-sided tests have to show that the figures are the same within 5 %. It is not slower, since
// ten seconds of 230 operations each leave chance 8 % (at 15 MB/s; 1 to 2 % at 60 MB/s).
func TestLocalModeAgrees(t *testing.T) {
	soak.Only(t)
	s := newSpace(t)
	store := s.burstClaim("data", model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 60e6}}})
	program, err := commandLine()
	must(t, err)
	file := filepath.Join(s.root, "config", "samples", "quickstart.yaml")
	results := t.TempDir()
	inCluster, here := filepath.Join(results, "cluster.json"), filepath.Join(results, "local.json")
	call := func(command *exec.Cmd, save string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		command.Stdout, command.Stderr = &stdout, &stderr
		if err := command.Run(); err != nil {
			t.Fatalf("%v: %v\n%s%s", command.Args, err, stdout.String(), stderr.String())
		}
		if save != "" {
			must(t, os.WriteFile(save, stdout.Bytes(), 0o600))
		} else {
			t.Log(stdout.String())
		}
	}
	call(exec.Command(program, "run", "-f", file, "-n", s.namespace, "--kubeconfig", s.State.Kubeconfig(), "-o", "json"), inCluster)
	local, err := s.State.Enter(t.Context(), program, "run", "--local", "-f", file, "--target", "data="+store.Path(), "-o", "json")
	must(t, err)
	call(local, here)
	call(exec.Command(program, "compare", inCluster, here, "--equivalent-within", "5"), "")
	s.clean()
}
