package v1alpha1_test

import (
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

func TestDurationParse(t *testing.T) {
	for text, want := range map[v1alpha1.Duration]time.Duration{
		"":            0,
		"0s":          0,
		"250ms":       250 * time.Millisecond,
		"5m":          5 * time.Minute,
		"1h30m":       90 * time.Minute,
		"1h1m1s1ms":   time.Hour + time.Minute + time.Second + time.Millisecond,
		"168h":        7 * 24 * time.Hour,
		"99999h":      99999 * time.Hour,
		"999999999ms": 999999999 * time.Millisecond,
	} {
		got, err := text.Parse()
		if err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []v1alpha1.Duration{"5", "1.5h", "-5m", "1m1h", "1 h", "h", "5us", "5d", " 5s", "100000h", "1H"} {
		got, err := text.Parse()
		if err == nil {
			t.Errorf("%q: accepted as %v", text, got)
		} else if !strings.Contains(err.Error(), string(text)) {
			t.Errorf("%q: the error does not name the value: %v", text, err)
		}
	}
}

func TestDurationOfIsParsedBack(t *testing.T) {
	for _, length := range []time.Duration{
		0, time.Millisecond, 999 * time.Millisecond, time.Second, 61 * time.Second,
		time.Hour + 5*time.Millisecond, 168 * time.Hour, 59*time.Minute + 59*time.Second,
	} {
		text := v1alpha1.DurationOf(length)
		got, err := text.Parse()
		if err != nil || got != length {
			t.Errorf("%v is written %q and read as %v, %v", length, text, got, err)
		}
	}
	if got := v1alpha1.DurationOf(-time.Second); got != "0s" {
		t.Errorf("a negative length is written %q, want 0s", got)
	}
	if got := v1alpha1.DurationOf(1500 * time.Microsecond); got != "1ms" {
		t.Errorf("1.5 ms is written %q, want 1ms", got)
	}
}

func TestShortDurationParse(t *testing.T) {
	for text, want := range map[v1alpha1.ShortDuration]time.Duration{
		"500us": 500 * time.Microsecond, "1ms500us": 1500 * time.Microsecond, "2s": 2 * time.Second, "999999s": 999999 * time.Second,
	} {
		if got, err := text.Parse(); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []v1alpha1.ShortDuration{"", "0us", "5", "1.5ms", "-5us", "1us1ms", "5m", "1h", "us", "5ns"} {
		if got, err := text.Parse(); err == nil || !strings.Contains(err.Error(), string(text)) {
			t.Errorf("%q: accepted as %v, or the error does not name it: %v", text, got, err)
		}
	}
}
