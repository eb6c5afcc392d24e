package detect

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// world generates random histories of runs. Each figure is lognormal and correlated with that of the preceding run.
type world struct {
	spread, correlation float64
	metrics             int
	// tails selects Student's t with 5 degrees of freedom instead of the normal distribution.
	tails bool
}

func (w world) draw(r *rand.Rand) float64 {
	x := r.NormFloat64()
	if !w.tails {
		return x
	}
	var chi float64
	for range 5 {
		y := r.NormFloat64()
		chi += y * y
	}
	return x / math.Sqrt(chi/5) / math.Sqrt(5.0/3)
}

// history returns runs whose first figure is multiplied by factor from run number changed on.
func (w world) history(r *rand.Rand, runs, changed int, factor float64) []HistoryRun {
	state := make([]float64, w.metrics)
	for i := range state {
		state[i] = w.draw(r)
	}
	history := make([]HistoryRun, runs)
	for n := range history {
		run := HistoryRun{ID: strconv.Itoa(n), Started: time.Unix(int64(n)*86400, 0), Valid: true}
		for i := range state {
			state[i] = w.correlation*state[i] + math.Sqrt(1-w.correlation*w.correlation)*w.draw(r)
			value := 1e9 * math.Exp(math.Log1p(w.spread)*state[i])
			if i == 0 && n >= changed {
				value *= factor
			}
			run.Metrics = append(run.Metrics, RunMetric{Name: strconv.Itoa(i), Value: value, LowerIsBetter: i == 3})
		}
		history[n] = run
	}
	return history
}

// replayed judges each run of a history by the state after its predecessors, as the operator does.
func replayed(t *testing.T, history []HistoryRun) []RegressionVerdict {
	t.Helper()
	state := regressionState{policy: RegressionPolicy{Against: 20, Tolerance: 0.05}}
	verdicts := make([]RegressionVerdict, len(history))
	for n := range history {
		verdicts[n] = state.next(&history[n], true).Verdict
	}
	return verdicts
}

// falseAlarms returns the fraction of judged runs with the verdict Regressed in histories without a change.
func falseAlarms(t *testing.T, w world, histories, runs int) float64 {
	t.Helper()
	r := rand.New(rand.NewPCG(7, uint64(w.spread*1000)))
	alarms, judged := 0, 0
	for range histories {
		for _, verdict := range replayed(t, w.history(r, runs, runs, 1)) {
			switch verdict {
			case RegressionRegressed:
				alarms++
				judged++
			case RegressionNoChange, RegressionImproved:
				judged++
			case RegressionUnknown:
			}
		}
	}
	return float64(alarms) / float64(judged)
}

// power returns the fraction of histories in which a change of the first figure is found within the given number of
// runs.
func power(t *testing.T, w world, histories, earlier, within int, factor float64) float64 {
	t.Helper()
	r := rand.New(rand.NewPCG(8, uint64(w.spread*1000)))
	found := 0
	for range histories {
		for _, verdict := range replayed(t, w.history(r, earlier+within, earlier, factor))[earlier:] {
			if verdict == RegressionRegressed {
				found++
				break
			}
		}
	}
	return float64(found) / float64(histories)
}

// mild is the usual correlation between successive runs in the simulated histories.
const mild = 0.1

// TestRegressionFalseAlarms tolerates a higher rate than the soak test, because it uses fewer histories.
func TestRegressionFalseAlarms(t *testing.T) { tryFalseAlarms(t, 200, 1.25) }

// tryFalseAlarms checks the rate of false alarms in histories of 60 runs with four figures, for several spreads.
func tryFalseAlarms(t *testing.T, histories int, slack float64) {
	t.Helper()
	for _, spread := range []float64{0.02, 0.03, 0.05, 0.07, 0.1} {
		for _, correlation := range []float64{0, mild} {
			count := histories
			if correlation == 0 {
				count /= 4 // without correlation, fewer histories are enough
			}
			rate := falseAlarms(t, world{spread: spread, correlation: correlation, metrics: 4}, count, 60)
			t.Logf("spread %.0f %%, correlation %g: %.2f %% false alarms a run", 100*spread, correlation, 100*rate)
			if rate > falseAlarmRate*slack {
				t.Errorf("spread %g, correlation %g: %.4f false alarms a run, more than %g", spread, correlation, rate, falseAlarmRate)
			}
			if spread > 0.05 && rate < falseAlarmRate/20 {
				t.Errorf("spread %g: %.5f false alarms a run: so few that nothing can be found either", spread, rate)
			}
		}
	}
}

// TestRegressionPower tolerates a lower share than the soak test, because it uses fewer histories.
func TestRegressionPower(t *testing.T) { tryPower(t, 500, 1.02) }

// tryPower checks that a loss of 10 % in one of four figures is found within three runs, at a spread of 3 % and with 20
// earlier runs.
func tryPower(t *testing.T, histories int, slack float64) {
	t.Helper()
	for _, correlation := range []float64{0, mild} {
		found := power(t, world{spread: 0.03, correlation: correlation, metrics: 4}, histories, 20, 3, 0.9)
		t.Logf("correlation %g: %.1f %% flagged within three runs", correlation, 100*found)
		if found < 0.9/slack {
			t.Errorf("correlation %g: %.3f are flagged within three runs, fewer than 0.9", correlation, found)
		}
	}
}
