package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/output"
	"github.com/storagebench/storagebench/test/soak"
)

// startTrial starts `run --storage-class` as the member and waits for the load of its run.
func (m *member) startTrial() (*exec.Cmd, *output.Buffer) {
	m.Helper()
	program, err := commandLine()
	must(m.T, err)
	trial := exec.CommandContext(m.Context(), program, "run", "--storage-class", cluster.StorageClassName, "--size", "1Gi",
		"--kubeconfig="+m.kubeconfig, "--namespace="+m.namespace)
	said := &output.Buffer{}
	trial.Stdout, trial.Stderr = said, said
	must(m.T, trial.Start())
	m.until("the run of the trial measures", 3*time.Minute, func() bool {
		run := m.run()
		return run != nil && run.Status.Live != nil && len(run.Status.Steps) > 1
	})
	return trial, said
}

// nothingOfATrial waits until no object of a trial is left in the space.
func (s *space) nothingOfATrial(patience time.Duration) {
	s.Helper()
	s.until("nothing of the trial is left", patience, func() bool {
		left := 0
		for _, list := range []client.ObjectList{&v1alpha1.StorageBenchmarkList{}, &v1alpha1.BenchmarkRunList{}, &batchv1.JobList{}, &corev1.PodList{},
			&corev1.PersistentVolumeClaimList{}} {
			must(s.T, s.api.List(s.Context(), list, client.InNamespace(s.namespace)))
			left += len(objectsOf(list))
		}
		return left == 0
	})
	s.clean()
}

// TestStorageClassInOneCommand measures a storage class with the rights of an editor only. Nothing may be left when the
// command ends, is interrupted by Ctrl-C, or is killed.
func TestStorageClassInOneCommand(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	t.Parallel()
	s := newSpace(t)
	editor := s.member("edit")

	got := editor.call(s.namespace, "run", "--storage-class", cluster.StorageClassName, "--size", "1Gi", "--profile", "rand-write-4k-qd1")
	if !strings.Contains(got.out, "complete") || !strings.Contains(got.err, "to lay out data") || !strings.Contains(got.err, "are removed") || got.code == 1 {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
	s.nothingOfATrial(10 * time.Second)

	trial, said := editor.startTrial()
	must(t, trial.Process.Signal(syscall.SIGINT))
	_ = trial.Wait()
	if code := trial.ProcessState.ExitCode(); code != 130 || !strings.Contains(said.String(), "are removed") || !strings.Contains(said.String(), "Cancelled") {
		t.Errorf("interrupted: exit code %d\n%s", code, said.String())
	}
	s.nothingOfATrial(10 * time.Second)

	// After a kill, the cluster removes the objects when the Job's time to live is over. Shorten it.
	trial, _ = editor.startTrial()
	must(t, trial.Process.Kill())
	_ = trial.Wait()
	benchmark := s.run().Spec.BenchmarkRef.Name
	job := &batchv1.Job{}
	if !s.get(benchmark, job) || job.Status.CompletionTime == nil {
		t.Fatalf("the Job %s is not complete: %+v", benchmark, job.Status)
	}
	must(t, s.api.Patch(s.Context(), job, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"ttlSecondsAfterFinished":%d}}`, 1))))
	s.nothingOfATrial(3 * time.Minute)
}
