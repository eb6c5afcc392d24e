package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

var errDied = errors.New("the operator died")

// mortal kills the operator twice at each kind of write: first before the write, then after it.
type mortal struct {
	mu    sync.Mutex
	times map[string]int
	died  chan struct{}
	dead  bool
	// spared is true while writes do not kill the operator.
	spared bool
}

// spare turns killing off or on.
func (m *mortal) spare(yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spared = yes
}

// write performs a write, or kills the operator before or after it.
func (m *mortal) write(what string, do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDied
	}
	if m.spared {
		return do()
	}
	m.times[what]++
	if m.times[what] > 2 {
		return do()
	}
	if m.times[what] == 2 {
		if err := do(); err != nil {
			m.times[what]-- // the write did not happen
			return err
		}
	}
	m.dead = true
	close(m.died)
	return errDied
}

// again revives the client for the next operator.
func (m *mortal) again() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.died, m.dead = make(chan struct{}), false
}

func (m *mortal) client(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	named := func(verb string, object client.Object) string {
		return fmt.Sprintf("%s %T %s", verb, object, object.GetName())
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return m.write(named("create", object), func() error { return c.Create(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return m.write(named("delete", object), func() error { return c.Delete(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			what := fmt.Sprintf("%s to finalizers %v", named("patch", object), object.GetFinalizers())
			return m.write(what, func() error { return c.Patch(ctx, object, patch, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			do := func() error { return c.SubResource(sub).Patch(ctx, object, patch, options...) }
			run, is := object.(*v1alpha1.BenchmarkRun)
			if !is {
				return do()
			}
			return m.write("note "+factsOf(run), do)
		},
	}), nil
}

// factsOf returns the facts in a run's status without attempts and times, which a repeated step changes.
func factsOf(run *v1alpha1.BenchmarkRun) string {
	facts := []string{string(run.Status.Stage)}
	last := map[string]v1alpha1.StepState{}
	for _, step := range run.Status.Steps {
		last[step.ID] = step.State
	}
	for _, step := range run.Spec.Steps {
		if state, begun := last[step.ID]; begun {
			facts = append(facts, step.ID+" "+string(state))
		}
	}
	for _, condition := range []string{v1alpha1.ConditionFailed, v1alpha1.ConditionComplete, v1alpha1.ConditionDataRemoved} {
		if meta.IsStatusConditionTrue(run.Status.Conditions, condition) {
			facts = append(facts, condition)
		}
	}
	if run.Status.EndTime != nil {
		facts = append(facts, "over")
	}
	return strings.Join(facts, ", ")
}

// TestOperatorDiesAtEachFact kills the operator before and after each recorded fact and each created or deleted object.
// It checks that the next operator continues from there until the run has ended and its objects are removed.
func TestOperatorDiesAtEachFact(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"to the end": false, "deleted while it writes": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, gate := newQuietWorld(t), newGate(t)
			w.runPods()
			m := &mortal{times: map[string]int{}}
			m.again()
			m.spare(deleted) // the other case covers deaths before the deletion
			w.newClient = m.client
			deaths := 0
			lives := func(is func() bool) func() bool {
				return func() bool {
					select {
					case <-m.died:
						w.stop()
						m.again()
						w.operate()
						deaths++
					default:
					}
					return is()
				}
			}
			w.operate()
			t.Cleanup(func() { w.stop() })
			run := w.start(builders.Benchmark("b").Target("data").Clients(2).Prepare("layout").Steady("write", "10m").WithLoad(gate.load()))
			w.until(run, "writing", lives(running(run, "01-write")))
			m.spare(false)
			if deleted {
				must(t, api.Delete(t.Context(), run))
				w.wait("the run is not gone", lives(func() bool { return w.gone(run) }))
			} else {
				gate.open(t)
				w.until(run, "over", lives(over(run)))
				w.until(run, "marked as over", lives(func() bool { return run.Labels[v1alpha1.LabelOver] == isOver }))
				w.undisturbed(run)
			}
			t.Logf("the operator died %d times", deaths)
			want := []string{"over"}
			if !deleted {
				want = append(want, "01-write Running", "00-layout Succeeded", "01-write Succeeded")
			}
			for _, fact := range want {
				if !slices.ContainsFunc(m.noted(), func(noted string) bool { return strings.Contains(noted, fact) }) {
					t.Errorf("no operator died at the fact %q", fact)
				}
			}
			w.wait("the pods are not gone", lives(func() bool { return len(w.podsOf(run)) == 0 }))
			w.clean()
		})
	}
}

// noted returns the facts at which operators died before and after the write.
func (m *mortal) noted() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for what, times := range m.times {
		if times >= 2 && strings.HasPrefix(what, "note ") {
			all = append(all, what)
		}
	}
	return all
}

// undisturbed checks that a run differs from one whose operator never died only in times and in restarted steps.
func (w *world) undisturbed(run *v1alpha1.BenchmarkRun) {
	w.Helper()
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) {
		w.Errorf("conditions %+v", run.Status.Conditions)
	}
	succeeded := map[string]int{}
	for _, fact := range run.Status.Steps {
		// A step is restarted if the operator dies when only one of the clients has its start order.
		if fact.State == v1alpha1.StepSucceeded {
			succeeded[fact.ID]++
		} else if !strings.Contains(fact.Message, late) {
			w.Errorf("step %+v", fact)
		}
	}
	for _, step := range run.Spec.Steps {
		if succeeded[step.ID] != 1 {
			w.Errorf("step %s succeeded %d times", step.ID, succeeded[step.ID])
		}
	}
	if len(run.Status.LostClients) > 0 {
		w.Errorf("lost: %+v", run.Status.LostClients)
	}
	for _, phase := range run.Status.Phases {
		target := phase.Targets[0]
		clients := int(target.Clients)
		for _, warning := range target.Warnings {
			// When a layout is restarted, a client that had its start order may have completed the layout already.
			if warning.Type == v1alpha1.WarningLayoutReused {
				clients += len(warning.Clients)
			}
		}
		if clients != 2 {
			w.Errorf("phase %s: %d clients, %+v", phase.Name, clients, target.Warnings)
		}
	}
}
