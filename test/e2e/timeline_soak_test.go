package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/soak"
)

const (
	// wantedDelay limits the additional time to the first I/O of a benchmark, compared with a bare pod.
	wantedDelay = 500 * time.Millisecond
	// rounds is the number of measurements of each way to run fio.
	rounds = 15
)

// TestTimeToFirstIO compares the time from `kubectl apply` to the first measured I/O with that of a bare pod and of a
// Job with such a pod. The claim is bound, the images are on the node, and all have the same init container and fio
// job.
func TestTimeToFirstIO(t *testing.T) {
	soak.Only(t)
	s := newSpace(t)
	s.claim("data", "1Gi")
	benchmark := builders.Benchmark("b").Target("data").Steady("write", "1s")
	job := jobOf(t, benchmark, 0)
	// Binds the claim, and returns the pod that the bare ones copy.
	like := throughOperator(s, benchmark).pod

	ways := []func() timeline{
		func() timeline { return throughOperator(s, benchmark) },
		func() timeline { return throughPod(s, like, job) },
		func() timeline { return throughJob(s, like, job) },
	}
	first := make([][]time.Duration, len(ways))
	var later, laterThanJob, toResult []time.Duration
	var timelines []timeline
	for round := range rounds {
		lines := make([]timeline, len(ways))
		for i := range ways {
			one := (i + round) % len(ways)
			lines[one] = ways[one]()
			first[one] = append(first[one], lines[one].firstIO())
		}
		later = append(later, lines[0].firstIO()-lines[1].firstIO())
		laterThanJob = append(laterThanJob, lines[0].firstIO()-lines[2].firstIO())
		toResult = append(toResult, lines[0].toResult)
		timelines = append(timelines, lines[:2]...)
	}
	bare := first[1]
	for i, versus := range []string{"bare pod with fio", "Job with fio"} {
		delay := median([][]time.Duration{later, laterThanJob}[i])
		row := soak.Row{Ours: fmt.Sprintf("%s, %s later (median of %d)", median(first[0]).Round(time.Millisecond), delay.Round(time.Millisecond), rounds),
			Versus: versus, Control: fmt.Sprintf("%s, from %s to %s", median(first[i+1]).Round(time.Millisecond), slices.Min(first[i+1]), slices.Max(first[i+1]))}
		if i == 0 {
			row.Bound, row.Met = fmt.Sprintf("at most %s later", wantedDelay), delay <= wantedDelay
		}
		soak.Compare(t, "from apply to the first measured I/O, beside a "+versus, row)
	}
	soak.Compare(t, "from the last I/O to its figures in the status", soak.Row{Ours: fmt.Sprintf("%s, median of %d", median(toResult).Round(time.Millisecond), rounds)})
	delay := median(later)
	soak.Report(t, "From apply to the first measured I/O", "%s", table(timelines))
	switch {
	case delay <= wantedDelay:
	case spread(bare) > 2*wantedDelay:
		soak.Inconclusive(t, "a benchmark's first I/O comes %s after a bare pod's, over %s, and those of bare pods are %s apart", delay, wantedDelay, spread(bare))
	default:
		t.Errorf("a benchmark's first I/O comes %s after a bare pod's, over %s", delay, wantedDelay)
	}
}

// moment is an event and its time since the request to the API server.
type moment struct {
	what string
	at   time.Duration
}

// timeline holds the moments of one benchmark, bare pod or Job.
type timeline struct {
	began   time.Time
	pod     *corev1.Pod
	moments []moment
	// toResult is the time from the last I/O until the figures appeared in the status.
	toResult time.Duration
}

func (l *timeline) add(what string, at time.Time) {
	l.moments = append(l.moments, moment{what, at.Sub(l.began)})
}

func (l *timeline) firstIO() time.Duration {
	return l.moments[len(l.moments)-1].at.Round(time.Millisecond)
}

// throughOperator applies a benchmark and records its moments up to its first I/O, and then waits for its end.
func throughOperator(s *space, benchmark *builders.BenchmarkBuilder) timeline {
	s.Helper()
	saw := s.observe()
	defer saw.stop()
	applied := benchmark.Obj()
	line := timeline{began: time.Now()}
	s.apply(applied)
	run := s.ended(wholeRun)
	if len(run.Status.Phases) == 0 || run.Status.Phases[0].StartTime == nil {
		s.Fatalf("the run has no first I/O")
	}
	line.pod = saw.newest()
	saw.into(&line, append([]string{"run created"}, podMoments...)...)
	saw.into(&line, "connected and loaded")
	line.add("start instant", run.Status.Steps[0].StartTime.Time)
	line.add("first I/O", run.Status.Phases[0].StartTime.Time)
	line.toResult = saw.at("figures").Sub(run.Status.Steps[0].LastIOTime.Time)
	must(s.T, s.api.Delete(s.Context(), applied, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	s.until("the benchmark is gone", time.Minute, func() bool {
		return s.benchmark(applied.Name) == nil && len(s.runs()) == 0 && len(s.pods()) == 0
	})
	return line
}

// throughPod creates a bare pod and records its moments up to its first I/O, and then waits for its end.
func throughPod(s *space, like *corev1.Pod, job string) timeline {
	s.Helper()
	pod := barePod(s, like, job)
	saw := s.observe()
	defer saw.stop()
	line := timeline{began: time.Now()}
	s.create(pod)
	output := s.output(pod)
	saw.into(&line, podMoments...)
	line.add("first I/O", firstIO(s.T, output, 1))
	s.removePod(pod)
	return line
}

// throughJob creates a Job with the bare pod and records its moments up to its first I/O, and then waits for its end.
func throughJob(s *space, like *corev1.Pod, job string) timeline {
	s.Helper()
	pod := barePod(s, like, job)
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	made := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "bare-"},
		Spec: batchv1.JobSpec{BackoffLimit: new(int32(0)), Template: corev1.PodTemplateSpec{Spec: pod.Spec}}}
	saw := s.observe()
	defer saw.stop()
	line := timeline{began: time.Now()}
	s.create(made)
	s.until("the Job has a pod", time.Minute, func() bool { return saw.newest() != nil })
	output := s.output(saw.newest().DeepCopy())
	saw.into(&line, podMoments...)
	line.add("first I/O", firstIO(s.T, output, 1))
	must(s.T, s.api.Delete(s.Context(), made, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	s.until("the Job's pod is gone", time.Minute, func() bool { return len(s.pods()) == 0 })
	return line
}

var podMoments = []string{"pod created", "scheduled", "init container seen ended", "client seen started"}

// observer records when it first sees each event.
type observer struct {
	*space

	mu   sync.Mutex
	seen map[string]time.Time
	// pod is the newest pod.
	pod  *corev1.Pod
	ends []func()
}

// observe watches the pods and runs of the space.
func (s *space) observe() *observer {
	s.Helper()
	o := &observer{space: s, seen: map[string]time.Time{}}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &v1alpha1.BenchmarkRunList{}} {
		watch, err := s.api.Watch(s.Context(), list, client.InNamespace(s.namespace))
		must(s.T, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for event := range watch.ResultChan() {
				o.note(event.Object)
			}
		}()
		o.ends = append(o.ends, func() { watch.Stop(); <-done })
	}
	return o
}

func (o *observer) stop() {
	for _, end := range o.ends {
		end()
	}
}

// at returns when an event was first seen.
func (o *observer) at(what string) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.seen[what]
}

// newest returns the newest pod seen.
func (o *observer) newest() *corev1.Pod {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pod
}

func (o *observer) note(object any) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	first := func(what string, is bool) {
		if _, known := o.seen[what]; is && !known {
			o.seen[what] = now
		}
	}
	switch object := object.(type) {
	case *v1alpha1.BenchmarkRun:
		first("run created", true)
		first("figures", len(object.Status.Phases) > 0 && len(object.Status.Phases[0].Targets) > 0)
		first("connected and loaded", len(object.Status.Steps) > 0 && object.Status.Steps[0].StartTime != nil)
	case *corev1.Pod:
		o.pod = object
		first("pod created", true)
		first("scheduled", object.Spec.NodeName != "")
		for _, status := range object.Status.InitContainerStatuses {
			first("init container seen ended", status.State.Terminated != nil)
		}
		for _, status := range object.Status.ContainerStatuses {
			first("client seen started", status.State.Running != nil || status.State.Terminated != nil)
		}
	}
}

// into adds the events that were seen to a timeline.
func (o *observer) into(line *timeline, what ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, one := range what {
		if at, known := o.seen[one]; known {
			line.add(one, at)
		}
	}
}

// table formats the first timelines side by side: a line per moment, in milliseconds.
func table(timelines []timeline) string {
	timelines = timelines[:min(len(timelines), 10)]
	var whats []string
	for _, line := range timelines {
		for i, moment := range line.moments {
			if slices.Contains(whats, moment.what) {
				continue
			}
			// Insert it after its predecessor in its own timeline.
			at := 0
			if i > 0 {
				at = slices.Index(whats, line.moments[i-1].what) + 1
			}
			whats = slices.Insert(whats, at, moment.what)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "  %-28s", "ms after apply")
	for i := range timelines {
		fmt.Fprintf(&text, "%7s", []string{"bench", "bare"}[i%2])
	}
	for _, what := range whats {
		fmt.Fprintf(&text, "\n  %-28s", what)
		for _, line := range timelines {
			at := slices.IndexFunc(line.moments, func(m moment) bool { return m.what == what })
			if at < 0 {
				fmt.Fprintf(&text, "%7s", "")
				continue
			}
			fmt.Fprintf(&text, "%7d", line.moments[at].at.Milliseconds())
		}
	}
	return text.String()
}

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

func rounded(all []time.Duration) []time.Duration {
	var short []time.Duration
	for _, one := range all {
		short = append(short, one.Round(10*time.Millisecond))
	}
	return short
}
