package e2e

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/soak"
)

// kills is the number of times that the operator is killed during the run.
const kills = 10

// TestOperatorKilled kills the operator (-9) at random moments of a live run. Nothing may be done twice or forgotten:
// the run must do as many operations as an undisturbed one, with the same clients, and remove its data. If the operator
// dies before it has sent the start command to all clients, the step must be repeated with a message.
//
// A Lease that was not released delays the next operator until it expires. The test waits for that each time.
func TestOperatorKilled(t *testing.T) {
	soak.Only(t)
	in := requireNode(t)
	in.withoutOperator(t)
	s := newSpace(t)
	s.claim("data", "1Gi")
	seed := soak.Seed(t)
	random := rand.New(rand.NewPCG(seed, kills))
	// Two steps of this length outlast ten starts and kills of an operator, including the waits for its Lease.
	const seconds = 100

	operator := in.operate(t)
	operator.leads(time.Minute)
	census := s.census()
	s.apply(chaotic(seconds).Obj())
	for kill := range kills {
		if kill%2 == 0 {
			// Kill just after a fact was stored, while the operator acts on it.
			s.news(3 * time.Second)
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		} else {
			time.Sleep(time.Duration(random.IntN(2500)) * time.Millisecond)
		}
		operator.kill()
		t.Logf("kill %d: %s", kill+1, s.moment())
		if run := s.run(); run != nil && run.Status.EndTime != nil {
			soak.Inconclusive(t, "the run was over before the operator was killed %d times", kills)
		}
		operator = in.operate(t)
		t.Logf("the next operator led after %.1f s", operator.leads(leader.LeaseDuration+10*time.Second).Seconds())
	}

	// Kill it once more while it tells the agents to remove their data and leave.
	s.until("the run is over or tidies up", time.Duration(3*seconds+60)*time.Second, func() bool {
		return meta.FindStatusCondition(s.run().Status.Conditions, v1alpha1.ConditionDataRemoved) != nil
	})
	operator.kill()
	t.Logf("killed at the end: %s, DataRemoved %s", s.moment(), told(s.run().Status.Conditions, v1alpha1.ConditionDataRemoved))
	in.forceElection(t)
	operator = in.operate(t)
	operator.leads(time.Minute)
	run := s.ended(wholeRun)
	isComplete(t, run)
	for _, phase := range []string{"write", "read"} {
		didAll(t, run, phase, 3, seconds, 95)
	}
	if len(run.Status.LostClients) > 0 {
		t.Errorf("lost clients %+v", run.Status.LostClients)
	}
	if steps, want := attempts(run), []string{"00-layout Succeeded", "01-write Succeeded", "02-read Succeeded"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	for _, fact := range run.Status.Steps {
		t.Logf("step %s, attempt %d: %s %s", fact.ID, fact.Attempt, fact.State, fact.Message)
	}
	if pods, want := census.names(), []string{run.Name + "-data-0-1", run.Name + "-data-1-1", run.Name + "-data-2-1"}; !slices.Equal(pods, want) {
		t.Errorf("there were the pods %q, want %q", pods, want)
	}
	if runs := s.runs(); len(runs) != 1 {
		t.Errorf("there are %d runs", len(runs))
	}
	s.until("the benchmark is judged", time.Minute, func() bool { return s.seen() == "Current" })
	s.clean()
	// Release the Lease, so that the next test does not have to wait for it.
	operator.stop()
}

// chaotic returns a benchmark of three clients with a layout, writes and reads.
func chaotic(seconds int) *builders.BenchmarkBuilder {
	return small(seconds).Clients(3).Steady("read", lasting(seconds)).With(paced().Reads())
}

// moment describes the progress of the newest run in a line. It is empty without a run.
func (s *space) moment() string {
	s.Helper()
	run := s.run()
	if run == nil {
		return "no run"
	}
	text := run.Status.Stage
	for _, fact := range run.Status.Steps {
		text += ", " + fact.ID + "#" + strconv.Itoa(int(fact.Attempt)) + " " + string(fact.State)
	}
	return text
}

// news waits until the facts of the newest run change, at most for patience.
func (s *space) news(patience time.Duration) {
	s.Helper()
	before := s.moment()
	for deadline := time.Now().Add(patience); s.moment() == before && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
}
