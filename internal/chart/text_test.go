package chart

import (
	"strings"
	"testing"
)

// TestTextRows checks the text chart of a line that falls by half, with a gap before the drop.
func TestTextRows(t *testing.T) {
	figure := Figure{X: Axis{Min: 0, Max: 20, Ticks: []Tick{{0, "0 s"}, {10, "10 s"}, {19.9, "20 s"}}}, Y: Axis{Max: 100, Ticks: []Tick{{0, "0"}, {50, "50"}, {100, "100"}}},
		Bands: []Band{{"burst", 0, 8}, {"a-long-name", 10, 14}, {"base", 14, 20}},
		Lines: []Line{{Name: "Write", Points: []Point{{Start: 0, End: 8, Y: 99}, {Start: 10, End: 20, Y: 46}}}}}
	for _, test := range []struct {
		ascii bool
		want  string
	}{
		{false, `
100 ████████
 50 ████████
    ████████  ▇▇▇▇▇▇▇▇▇▇
  0 ████████  ██████████
    burst     a-l base
    0 s       10 s`},
		{true, `
100 ########
 50 ########
    ########  %%%%%%%%%%
  0 ########  ##########
    burst     a-l base
    0 s       10 s`},
	} {
		if got := "\n" + strings.Join(figure.TextRows(24, 4, test.ascii), "\n"); got != test.want {
			t.Errorf("ascii %t:%s\nwant%s", test.ascii, got, test.want)
		}
	}
	figure.Lines = append(figure.Lines, Line{Name: "Read", Points: figure.Lines[0].Points}, Line{Name: "Trim"})
	got := figure.TextRows(30, 4, true)
	if len(got) != 3+2 || !strings.HasSuffix(got[0], " Write") || !strings.HasSuffix(got[1], " Read") || strings.Contains(got[2], "#") {
		t.Errorf("three lines: %q", got)
	}
	if got := figure.TextRows(4, 4, true); got != nil {
		t.Errorf("no room: %q", got)
	}
}

// TestTimesInText checks that no label of the time axis is cut, because a cut label reads as another time.
func TestTimesInText(t *testing.T) {
	for _, seconds := range []float64{62, 94, 4511} {
		axis := Seconds(0, seconds)
		whole := map[string]bool{}
		for _, tick := range axis.Ticks {
			whole[strings.ReplaceAll(tick.Label, " ", "_")] = true
		}
		for i := range axis.Ticks {
			axis.Ticks[i].Label = strings.ReplaceAll(axis.Ticks[i].Label, " ", "_")
		}
		f := Figure{X: axis, Y: Axis{Max: 100, Ticks: []Tick{{0, "0"}, {100, "100"}}}, Lines: []Line{{Points: []Point{{Start: 0, End: seconds, Y: 50}}}}}
		for width := 40; width <= 100; width++ {
			rows := f.TextRows(width, 4, true)
			for label := range strings.FieldsSeq(rows[len(rows)-1]) {
				if !whole[label] {
					t.Errorf("%g s on %d columns: %q is not a label", seconds, width, label)
				}
			}
		}
	}
}

// TestLabelsOfTimes checks that the labels of a short axis that starts after an hour differ from each other.
func TestLabelsOfTimes(t *testing.T) {
	seen := map[string]bool{}
	for _, tick := range Seconds(3600, 3840).Ticks {
		if seen[tick.Label] {
			t.Errorf("duplicate label %s", tick.Label)
		}
		seen[tick.Label] = true
	}
}
