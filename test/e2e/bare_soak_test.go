package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// jobOf returns the job file that the first client of a benchmark receives for a step.
func jobOf(t *testing.T, benchmark *builders.BenchmarkBuilder, step int) string {
	t.Helper()
	planned, problems := plan.Make(benchmark.Run(), 1)
	must(t, problems.ToAggregate())
	key := decide.ClientKey{Target: benchmark.Run().Targets[0].Name}
	request, err := conductor.LoadRequest(planned.Steps[step], key, 1, conductor.Job{})
	must(t, err)
	return request.GetFio().GetJob()
}

// firstIO returns when a fio process started its first I/O. It estimates the time from the output as agents do.
func firstIO(t *testing.T, output []byte, jobs int) time.Time {
	t.Helper()
	var stream fio.Stream
	_, _ = stream.Write(output) // never fails
	sampler := fio.NewSampler(fio.SamplerOptions{Jobs: jobs})
	for _, document := range stream.Documents() {
		if _, err := sampler.Add(document); err != nil {
			t.Fatal(err)
		}
	}
	nanoseconds, ok := sampler.MeasuredSince()
	if !ok {
		t.Fatalf("bare fio did no I/O:\n%s", output)
	}
	return time.Unix(0, nanoseconds)
}

// barePod returns the pod of a client as it would be written without an operator: the same init container, image and
// volume, but fio with a job file instead of the agent.
func barePod(s *space, like *corev1.Pod, job string) *corev1.Pod {
	s.Helper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Data: map[string]string{"job.fio": job}}
	if !s.get("job", &corev1.ConfigMap{}) {
		s.create(config)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "bare-"}, Spec: *like.Spec.DeepCopy()}
	pod.Spec.NodeName, pod.Spec.Hostname = "", ""
	for i := range pod.Spec.Volumes {
		if volume := &pod.Spec.Volumes[i]; volume.Secret != nil {
			volume.VolumeSource = corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "job"}}}
		}
	}
	container := &pod.Spec.Containers[0]
	arguments := fio.Arguments(result.SampleInterval)
	container.Command = append(append([]string{"fio"}, arguments[:len(arguments)-1]...), "/etc/storagebench/job.fio")
	container.WorkingDir = objects.VolumePath("data")
	return pod
}

// output waits until a pod has ended and returns its log.
func (s *space) output(pod *corev1.Pod) []byte {
	s.Helper()
	s.until("pod "+pod.Name+" has ended", wholeRun, func() bool {
		if !s.get(pod.Name, pod) {
			s.Fatalf("pod %s is gone", pod.Name)
		}
		if pod.Status.Phase == corev1.PodFailed {
			s.Fatalf("pod %s failed", pod.Name)
		}
		return pod.Status.Phase == corev1.PodSucceeded
	})
	log, err := s.clients.CoreV1().Pods(s.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(s.Context())
	must(s.T, err)
	return log
}

// removePod deletes a pod and waits until it is gone.
func (s *space) removePod(pod *corev1.Pod) {
	s.Helper()
	must(s.T, client.IgnoreNotFound(s.api.Delete(s.Context(), pod, client.GracePeriodSeconds(0))))
	s.until("pod "+pod.Name+" is gone", 30*time.Second, func() bool { return !s.get(pod.Name, &corev1.Pod{}) })
}

// bareTogether runs several fio on this machine, each in its own directory, and releases all of them at once by closing
// a pipe. It returns the time between the first I/O of the first and of the last one.
func bareTogether(t *testing.T, folders []string, job string, interval time.Duration) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	release, gate, err := pipe()
	must(t, err)
	commands := make([]*exec.Cmd, len(folders))
	outputs := make([]bytes.Buffer, len(folders))
	for i, folder := range folders {
		// As with an agent, fio runs before it receives its job.
		script := fmt.Sprintf(`{ read -r nothing <&3; printf '%%s' "$0"; } | exec fio %s`, argumentsLine(fio.Arguments(interval)))
		commands[i] = exec.CommandContext(ctx, "sh", "-c", script, job)
		commands[i].Dir = folder
		commands[i].ExtraFiles = append(commands[i].ExtraFiles, gate)
		commands[i].Stdout = &outputs[i]
		must(t, commands[i].Start())
		// At its start, fio measures the precision of sleeping and then spins for that long instead of sleeping (3.33). If 64
		// processes started at once, they would measure 50 ms and then use all CPU time.
		time.Sleep(100 * time.Millisecond)
	}
	must(t, gate.Close())
	time.Sleep(time.Second)
	must(t, release.Close())
	var first, last time.Time
	for i, command := range commands {
		must(t, command.Wait())
		at := firstIO(t, outputs[i].Bytes(), 1)
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return last.Sub(first)
}
