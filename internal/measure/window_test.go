package measure

import (
	"math"
	"testing"
)

func TestCommonWindow(t *testing.T) {
	tests := []struct {
		name    string
		spans   []ClientSpan
		window  Window
		ok      bool
		share   float64
		verdict WindowVerdict
		skew    int64
	}{
		{"no clients", nil, Window{}, false, 0, WindowsInvalid, 0},
		{"one", []ClientSpan{{10, 110}}, Window{10, 110}, true, 1, WindowsAgree, 0},
		{"95 %", []ClientSpan{{0, 100}, {5, 100}}, Window{5, 100}, true, 0.95, WindowsAgree, 5},
		{"under 95 %", []ClientSpan{{0, 100}, {6, 100}}, Window{6, 100}, true, 0.94, WindowsDiffer, 6},
		{"80 %", []ClientSpan{{0, 100}, {10, 90}}, Window{10, 90}, true, 0.8, WindowsDiffer, 10},
		{"under 80 %", []ClientSpan{{0, 100}, {21, 121}}, Window{21, 100}, true, 0.79, WindowsInvalid, 21},
		{"one after the other", []ClientSpan{{0, 100}, {100, 200}}, Window{}, false, 0, WindowsInvalid, 100},
		{"one has no length", []ClientSpan{{0, 100}, {50, 50}}, Window{}, false, 0, WindowsInvalid, 50},
		{"one is backwards", []ClientSpan{{0, 100}, {60, 50}}, Window{}, false, 0, WindowsInvalid, 60},
		{"one is out of time", []ClientSpan{{0, 100}, {0, math.MaxInt64}}, Window{}, false, 0, WindowsInvalid, 0},
	}
	for _, test := range tests {
		window, ok := CommonWindow(test.spans)
		if ok != test.ok || window != test.window {
			t.Errorf("%s: window %v, %v, want %v, %v", test.name, window, ok, test.window, test.ok)
		}
		if share, verdict := JudgeWindow(window, test.spans); share != test.share || verdict != test.verdict {
			t.Errorf("%s: share %v, verdict %v, want %v, %v", test.name, share, verdict, test.share, test.verdict)
		}
		if skew := StartSkewNanoseconds(test.spans); skew != test.skew {
			t.Errorf("%s: skew %d, want %d", test.name, skew, test.skew)
		}
	}
}

func TestJudgeWindowOutsideOfASpan(t *testing.T) {
	share, verdict := JudgeWindow(Window{0, 10}, []ClientSpan{{0, 10}, {20, 30}})
	if share != 0 || verdict != WindowsInvalid {
		t.Errorf("share %v, verdict %v", share, verdict)
	}
}
