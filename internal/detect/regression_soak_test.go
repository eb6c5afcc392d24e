package detect

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
	"github.com/storagebench/storagebench/test/soak"
)

func TestRegressionFalseAlarmsInFull(t *testing.T) {
	soak.Only(t)
	tryFalseAlarms(t, 1000, 1)
}

func TestRegressionPowerInFull(t *testing.T) {
	soak.Only(t)
	tryPower(t, 2000, 1)
}

const (
	tableBegin = "<!-- made by go test ./internal/detect -run TestRegressionTable -update -->\n"
	tableEnd   = "<!-- end -->\n"
	tablePath  = "../../docs/regression.md"
)

// TestRegressionTable checks that the tables in docs/regression.md are up to date.
func TestRegressionTable(t *testing.T) {
	if !*golden.Update {
		soak.Only(t)
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
	if *golden.Update {
		if err := os.WriteFile(tablePath, []byte(before+tableBegin+text.String()+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != text.String() {
		t.Errorf("the tables of %s are old: run with -update\n%s", tablePath, &text)
	}
}
