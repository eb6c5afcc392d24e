package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/test/soak"
)

// TestMPIManyStopsLeaveNothing checks that stops at many moments leave nothing behind.
func TestMPIManyStopsLeaveNothing(t *testing.T) {
	soak.Only(t)
	j := newJob(t, 3, 2)
	for round := range 20 {
		j.stopsLeaveNothing(fmt.Sprintf("round-%d", round), func() {
			if round%4 == 3 {
				// Stop while daemons and ranks start.
				time.Sleep(time.Duration(round) * 25 * time.Millisecond)
			} else {
				j.sampling(round % 3)
			}
		})
	}
}

// TestMPIFirstIO measures the time from the start of a job to the first I/O of a rank.
func TestMPIFirstIO(t *testing.T) {
	soak.Only(t)
	const clients, rounds = 8, 5
	j := newJob(t, clients, 2)
	var took []time.Duration
	for round := range rounds {
		id := fmt.Sprint("round-", round)
		j.begin(id, noLimit, oneWrite, "ior", "-a", "POSIX", "-t", "1m", "-b", "2m", "-F", "-w", "-o", "data")
		ended, logs := j.end(id)
		if ended[0].GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || ended[0].GetIoStartNanoseconds() == 0 {
			t.Fatalf("got %v", ended[0])
		}
		released := logs[0][0].GetStarted().GetReleasedNanoseconds()
		first := ended[0].GetIoStartNanoseconds()
		for _, one := range ended {
			first = min(first, one.GetIoStartNanoseconds())
		}
		took = append(took, time.Duration(first-released))
	}
	slices.Sort(took)
	soak.Report(t, "first I/O of MPI", "%d clients of 2 ranks: the first I/O after %s, the median of %v", clients, took[rounds/2], took)
	if took[rounds/2] > 20*time.Second {
		t.Errorf("the first I/O after %s", took)
	}
}
