package storagebenchmark

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/record"
)

func scheduled(line, zone string, deadline v1alpha1.Duration) func(*v1alpha1.StorageBenchmark) {
	return func(b *v1alpha1.StorageBenchmark) {
		if b.Spec.Trigger == nil {
			b.Spec.Trigger = &v1alpha1.Trigger{}
		}
		b.Spec.Trigger.Schedule, b.Spec.Trigger.TimeZone = line, zone
		if deadline != "" {
			b.Spec.Trigger.StartingDeadline = &deadline
		}
	}
}

func stopping(b *v1alpha1.StorageBenchmark) {
	if b.Spec.Trigger == nil {
		b.Spec.Trigger = &v1alpha1.Trigger{}
	}
	b.Spec.Trigger.ReplacePolicy = v1alpha1.ReplaceStop
}

func triggered(change func(*v1alpha1.Trigger)) func(*v1alpha1.StorageBenchmark) {
	return func(b *v1alpha1.StorageBenchmark) {
		if b.Spec.Trigger == nil {
			b.Spec.Trigger = &v1alpha1.Trigger{}
		}
		change(b.Spec.Trigger)
	}
}

func onChange(value bool) func(*v1alpha1.StorageBenchmark) {
	return triggered(func(t *v1alpha1.Trigger) { t.OnChange = &value })
}

func releases(value string) func(*v1alpha1.StorageBenchmark) {
	return triggered(func(t *v1alpha1.Trigger) { t.Manual = value })
}

// benchAt returns a benchmark that is created when the sequences start, with the given changes.
func benchAt(changes ...func(*v1alpha1.StorageBenchmark)) client.Object {
	b := bench()
	b.CreationTimestamp = metav1.Time{Time: begin0}
	for _, change := range changes {
		change(b)
	}
	return b
}

// endsBy returns a function that makes a run fail.
func endsBy(reason, message string) func(*v1alpha1.BenchmarkRun, time.Time) {
	return func(run *v1alpha1.BenchmarkRun, now time.Time) {
		record.Begin(run, now.Add(-time.Minute))
		record.Fail(run, decide.Failure{Reason: reason, Message: message}, now)
		record.Finished(run, nil, now)
	}
}

var (
	replaced  = endsBy(v1alpha1.ReasonReplaced, "the benchmark's next run is due and spec.trigger.concurrencyPolicy is Replace")
	preempted = endsBy(v1alpha1.ReasonPreempted, "pod x was preempted")
)

// queued makes the active run wait for another run.
func (w *world) queued(message string) {
	w.tb.Helper()
	run := w.active()
	record.Waiting(run, true, v1alpha1.ReasonWaitsForQueue, message, w.clock.Now())
	w.writeRun(run)
	w.note("the run waits")
	w.settle()
}

// timedSequences are sequences that depend on the time. They start at begin0, noon on a Saturday.
var timedSequences = []sequence{
	{"a nightly run", []client.Object{benchAt(scheduled("0 3 * * *", "Europe/Berlin", "")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.wait(13 * time.Hour)
		w.wait(time.Hour)
		w.ends("good", good)
		w.wait(24*time.Hour - time.Minute)
		w.ends("failed", failed)
		w.edit("another number of clients", clients(2))
		w.wait(24 * time.Hour)
		w.ends("good", good)
		w.edit("the schedule is removed", func(b *v1alpha1.StorageBenchmark) { b.Spec.Trigger = nil })
		w.edit("another number of clients", clients(1))
	}},
	{"times pass while there is no operator", []client.Object{benchAt(scheduled("0 * * * *", "", "")), claimNamed("data")}, func(w *world) {
		w.wait(5*time.Hour + 30*time.Minute)
		w.ends("good", good)
		w.wait(1000 * time.Hour)
		w.ends("good", good)
	}},
	{"times pass the deadline", []client.Object{benchAt(scheduled("0 * * * *", "", "10m")), claimNamed("data")}, func(w *world) {
		w.wait(time.Hour + 11*time.Minute)
		w.wait(58 * time.Minute)
		w.ends("good", good)
	}},
	{"times pass while a run is live", []client.Object{benchAt(scheduled("0 * * * *", "", "30m")), claimNamed("data")}, func(w *world) {
		w.wait(time.Hour)
		w.wait(time.Hour + 10*time.Minute)
		w.ends("good", good)
		w.wait(time.Hour + 31*time.Minute)
		w.ends("good, half an hour and more late for the next", good)
	}},
	{"a schedule and a request", []client.Object{benchAt(scheduled("0 3 * * *", "", "")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("requested at v1", request1("v1"))
		w.ends("good", good)
		w.wait(15 * time.Hour)
		w.edit("requested at v2, while the night's run is live", request1("v2"))
		w.ends("good", good)
		w.ends("good", good)
	}},
	{"a schedule is edited", []client.Object{benchAt(scheduled("0 3 * * *", "", "")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.wait(4 * time.Hour)
		w.edit("each hour: nothing is due of the hours before", scheduled("0 * * * *", "", ""))
		w.wait(time.Hour)
		w.ends("good", good)
		w.edit("once a day again", scheduled("0 3 * * *", "", ""))
		w.edit("a zone that is none", scheduled("0 3 * * *", "Mars/Olympus", ""))
		w.edit("and a good one", scheduled("0 3 * * *", "Asia/Tokyo", ""))
		w.wait(2 * time.Hour)
	}},
	{"a schedule is added later", []client.Object{benchAt(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		w.wait(48 * time.Hour)
		w.edit("each night", scheduled("0 3 * * *", "", ""))
		w.wait(15 * time.Hour)
		w.ends("good", good)
	}},
	{"suspended over times of a schedule", []client.Object{benchAt(scheduled("0 * * * *", "", ""), suspend(true)), claimNamed("data")}, func(w *world) {
		w.settle()
		w.wait(3*time.Hour + time.Minute)
		w.edit("suspend: false", suspend(false))
		w.ends("good", good)
	}},
	{"a reference is missing when a run is due", []client.Object{benchAt(scheduled("0 * * * *", "", "20m"))}, func(w *world) {
		w.settle()
		w.wait(time.Hour)
		w.wait(21 * time.Minute)
		w.wait(40 * time.Minute)
		w.add(claimNamed("data"))
		w.ends("good", good)
	}},
	{"a live run makes way for an edit", []client.Object{benchAt(stopping), claimNamed("data")}, func(w *world) {
		w.settle()
		w.goes(v1alpha1.StageRunning)
		w.edit("another number of clients", clients(2))
		w.ends("replaced", replaced)
		w.ends("good", good)
		w.edit("and back", clients(1))
		w.edit("and back again, before it has made way", clients(2))
		w.ends("replaced", replaced)
		w.edit("and back", clients(1))
		w.ends("good", good)
	}},
	{"a live run makes way for the next night's", []client.Object{benchAt(stopping, scheduled("0 3 * * *", "", "")), claimNamed("data")}, func(w *world) {
		w.wait(15 * time.Hour)
		w.ends("good", good)
		w.wait(24 * time.Hour)
		w.wait(24 * time.Hour)
		w.ends("replaced: the last verdict stays", replaced)
		w.ends("failed", failed)
	}},
	{"a live run makes way later than the deadline", []client.Object{benchAt(stopping, scheduled("0 3 * * *", "", "1m")), claimNamed("data")}, func(w *world) {
		w.wait(15 * time.Hour)
		w.wait(24 * time.Hour)
		w.wait(2 * time.Minute)
		w.ends("replaced", replaced)
		w.wait(24*time.Hour - 3*time.Minute)
		w.edit("requested at v1", request1("v1"))
		w.wait(2 * time.Minute)
		w.ends("replaced", replaced)
		w.wait(24*time.Hour - 3*time.Minute)
		w.edit("suspend: true", suspend(true))
		w.wait(2 * time.Minute)
		w.ends("replaced", replaced)
		w.edit("suspend: false", suspend(false))
	}},
	{"a live run makes way for the last of several times", []client.Object{benchAt(stopping, scheduled("* * * * *", "", "30s")), claimNamed("data")}, func(w *world) {
		w.wait(time.Minute)
		w.wait(time.Minute)
		w.wait(2*time.Minute + 45*time.Second)
		w.ends("replaced", replaced)
		w.edit("suspend: true", suspend(true))
		w.ends("good", good)
	}},
	{"a live run does not make way for what cannot be run", []client.Object{benchAt(stopping), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("a claim that is not there", func(b *v1alpha1.StorageBenchmark) { b.Spec.Run.Targets[0].Volumes[0].ClaimName = "other" })
		w.add(claimNamed("other"))
		w.ends("complete before it was told", good)
	}},
	{"defaults are written out, and removed again", []client.Object{benchAt(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		var before v1alpha1.RunSpec
		w.edit("defaults are written out", func(b *v1alpha1.StorageBenchmark) {
			b.Spec.Run.DeepCopyInto(&before)
			b.Spec.Run.SetDefaults()
		})
		w.edit("defaults are removed", func(b *v1alpha1.StorageBenchmark) { before.DeepCopyInto(&b.Spec.Run) })
	}},
	{"onChange is false", []client.Object{benchAt(onChange(false)), claimNamed("data")}, func(w *world) {
		w.settle()
		w.wait(48 * time.Hour)
		w.edit("requested at v1", request1("v1"))
		w.edit("another number of clients, while the run is live", clients(2))
		w.ends("good", good)
		w.wait(48 * time.Hour)
		w.edit("manual: release-42", releases("release-42"))
		w.ends("good", good)
		w.edit("another number of clients", clients(3))
		w.edit("onChange: true", onChange(true))
	}},
	{"onChange is false, and a live run would make way", []client.Object{benchAt(onChange(false), stopping), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("requested at v1", request1("v1"))
		w.edit("another number of clients", clients(2))
		w.edit("requested at v2", request1("v2"))
		w.ends("replaced", replaced)
	}},
	{"onChange is false, in a rebuilt cluster", []client.Object{benchAt(onChange(false), releases("release-42")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.wait(48 * time.Hour)
		w.edit("manual: release-43", releases("release-43"))
		w.ends("good", good)
		w.loseStatus()
	}},
	{"onChange is false, with a schedule", []client.Object{benchAt(onChange(false), scheduled("0 3 * * *", "", "")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.wait(15 * time.Hour)
		w.ends("good", good)
	}},
	{"onChange is true, with a schedule", []client.Object{benchAt(onChange(true), scheduled("0 3 * * *", "", "")), claimNamed("data")}, func(w *world) {
		w.settle()
		w.edit("another number of clients, while the run is live", clients(2))
		w.ends("good", good)
		w.ends("good", good)
		w.wait(15 * time.Hour)
		w.ends("good", good)
	}},
	{"a run waits for another", []client.Object{benchAt(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.queued("waits for run other-0a1b2c3d (queue nightly)")
		w.queued("waits for run third-0a1b2c3d (queue nightly)")
		w.deletes(w.active())
	}},
	{"a run is preempted", []client.Object{benchAt(), claimNamed("data")}, func(w *world) {
		w.settle()
		w.ends("good", good)
		w.edit("manual: release-42", manual("release-42"))
		w.ends("preempted", preempted)
		w.ends("preempted again", preempted)
		w.ends("good", good)
		w.edit("another number of clients", clients(2))
		w.edit("suspend: true", suspend(true))
		w.ends("preempted", preempted)
		w.edit("suspend: false", suspend(false))
		w.ends("good", good)
	}},
}

func init() { sequences = append(sequences, timedSequences...) }

// TestStatusOfAScheduleIsLost checks that a scheduled run gets a new name even if the status, which names the earlier
// runs, is lost.
func TestStatusOfAScheduleIsLost(t *testing.T) {
	w := newWorld(t, benchAt(scheduled("0 * * * *", "", "")), claimNamed("data"))
	for range 2 {
		w.wait(time.Hour)
		w.ends("good", good)
	}
	w.loseStatus()
	if active := w.benchmark().Status.ActiveRun; active == nil || active.UID == "" {
		t.Errorf("the active run is %+v, want a new run\n%s", active, w.out.String())
	}
}
