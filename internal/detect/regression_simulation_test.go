package detect

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the tables of docs/regression.md anew")

// world draws histories of runs: each figure is lognormal, and each run a little like the one before.
type world struct {
	spread, correlation float64
	metrics             int
	// tails draws from Student's t with 5 degrees of freedom in place of the normal distribution.
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

// history gives runs; after "changed" of them the first figure has changed by the factor.
func (w world) history(r *rand.Rand, runs, changed int, factor float64) []HistoryRun {
	state := make([]float64, w.metrics)
	for i := range state {
		state[i] = w.draw(r)
	}
	history := make([]HistoryRun, runs)
	for n := range history {
		run := HistoryRun{ID: strconv.Itoa(n), Started: time.Unix(int64(n)*86400, 0), Valid: true, Key: "same"}
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

// replayed judges every run of a history, each with what was recorded for those before it, as an operator
// does.
func replayed(t *testing.T, history []HistoryRun) []RegressionVerdict {
	t.Helper()
	state := regressionState{policy: RegressionPolicy{Against: 20, Tolerance: 0.05}}
	verdicts := make([]RegressionVerdict, len(history))
	for n := range history {
		verdicts[n] = state.next(&history[n], true).Verdict
	}
	return verdicts
}

// falseAlarms gives the share of judged runs that are called regressed where nothing changed.
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

// power gives how often a change of the first figure is flagged within so many runs.
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

// mild is how much a run is like the one before in the tests' worlds.
const mild = 0.1

// histories is so many with SOAK=1, and otherwise fewer, of which a rate is less sure by the factor.
func histories(all, few int, factor float64) (count int, slack float64) {
	if os.Getenv("SOAK") == "" {
		return few, factor
	}
	return all, 1
}

// TestRegressionFalseAlarms: over 1,000 histories of 60 runs at each spread, with four figures judged; over fewer
// without SOAK=1.
func TestRegressionFalseAlarms(t *testing.T) {
	for _, spread := range []float64{0.02, 0.03, 0.05, 0.07, 0.1} {
		for _, correlation := range []float64{0, mild} {
			count, slack := histories(1000, 200, 1.25)
			if correlation == 0 {
				count /= 4 // the easier case
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

// TestRegressionPower: a tenth less in one of four figures, at a spread of 3 % with 20 earlier runs.
func TestRegressionPower(t *testing.T) {
	for _, correlation := range []float64{0, mild} {
		count, slack := histories(2000, 500, 1.02)
		found := power(t, world{spread: 0.03, correlation: correlation, metrics: 4}, count, 20, 3, 0.9)
		t.Logf("correlation %g: %.1f %% flagged within three runs", correlation, 100*found)
		if found < 0.9/slack {
			t.Errorf("correlation %g: %.3f are flagged within three runs, fewer than 0.9", correlation, found)
		}
	}
}

const (
	tableBegin = "<!-- made by go test ./internal/detect -run TestRegressionTable -update -->\n"
	tableEnd   = "<!-- end -->\n"
	tablePath  = "../../docs/regression.md"
)

// TestRegressionTable keeps the tables of docs/regression.md true.
func TestRegressionTable(t *testing.T) {
	if !*update && os.Getenv("SOAK") == "" {
		t.Skip("a minute: SOAK=1, or -update to write it")
	}
	const count = 1000
	var text strings.Builder
	text.WriteString("How often a loss in one of four figures is flagged within three runs, in percent:\n\n| spread | earlier runs |")
	losses := []float64{0.05, 0.07, 0.1, 0.15, 0.2, 0.3}
	for _, loss := range losses {
		fmt.Fprintf(&text, " %.0f %% less |", 100*loss)
	}
	text.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(losses)) + "\n")
	for _, spread := range []float64{0.02, 0.03, 0.05, 0.07, 0.1} {
		for _, earlier := range []int{5, 10, 20} {
			fmt.Fprintf(&text, "| %.0f %% | %d |", 100*spread, earlier)
			for _, loss := range losses {
				fmt.Fprintf(&text, " %.0f |", 100*power(t, world{spread: spread, correlation: mild, metrics: 4}, count, earlier, 3, 1-loss))
			}
			text.WriteString("\n")
		}
	}
	text.WriteString("\nFalse alarms a run, in percent, by how much a run is like the one before (0: not at all), and for figures\n" +
		"with heavy tails (Student's t with 5 degrees of freedom):\n\n| spread | 0 | 0.1 | 0.2 | 0.3 | heavy tails, 0.1 |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, spread := range []float64{0.02, 0.03, 0.05, 0.07, 0.1} {
		fmt.Fprintf(&text, "| %.0f %% |", 100*spread)
		for _, correlation := range []float64{0, mild, 0.2, 0.3} {
			fmt.Fprintf(&text, " %.2f |", 100*falseAlarms(t, world{spread: spread, correlation: correlation, metrics: 4}, count, 60))
		}
		fmt.Fprintf(&text, " %.2f |\n", 100*falseAlarms(t, world{spread: spread, correlation: mild, metrics: 4, tails: true}, count, 60))
	}
	page, err := os.ReadFile(tablePath)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(page), tableBegin)
	old, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatalf("%s has no place for the tables", tablePath)
	}
	if *update {
		if err := os.WriteFile(tablePath, []byte(before+tableBegin+text.String()+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != text.String() {
		t.Errorf("the tables of %s are old: run with -update\n%s", tablePath, &text)
	}
}
