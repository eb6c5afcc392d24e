package measure

import "math"

// Limits for the share of a client's own measured time that lies in the common window, from 0 to 1.
const (
	// MinShareAgree is the share below which a result gets the warning WindowsDiffer.
	MinShareAgree = 0.95
	// MinShareValid is the share below which a result is invalid.
	MinShareValid = 0.80
)

// Window is the time between two instants of the reference clock.
type Window struct {
	StartNanoseconds int64 `json:"startNanoseconds"`
	EndNanoseconds   int64 `json:"endNanoseconds"`
}

// Nanoseconds returns the length of the window.
func (w Window) Nanoseconds() int64 { return w.EndNanoseconds - w.StartNanoseconds }

// Seconds returns the length of the window.
func (w Window) Seconds() float64 { return float64(w.Nanoseconds()) / nanosecondsInSecond }

const nanosecondsInSecond = 1e9

// sound reports whether the window is not empty and lies in the accepted range of time.
func (w Window) sound() bool {
	return w.StartNanoseconds < w.EndNanoseconds && w.StartNanoseconds >= -MaxInstant && w.EndNanoseconds <= MaxInstant
}

// ClientSpan is the time during which one client was running and was measured.
type ClientSpan = Window

// CommonWindow returns the time in which every client was running. ok is false if there is no such time, if there are
// no clients, or if a span is empty.
func CommonWindow(spans []ClientSpan) (window Window, ok bool) {
	window = Window{StartNanoseconds: math.MinInt64, EndNanoseconds: math.MaxInt64}
	for _, span := range spans {
		if !span.sound() {
			return Window{}, false
		}
		window.StartNanoseconds = max(window.StartNanoseconds, span.StartNanoseconds)
		window.EndNanoseconds = min(window.EndNanoseconds, span.EndNanoseconds)
	}
	if !window.sound() {
		return Window{}, false
	}
	return window, true
}

// wholeWindow returns the time from the first client's start to the last client's end. ok is false if there are no
// clients or a span is empty.
func wholeWindow(spans []ClientSpan) (window Window, ok bool) {
	for i, span := range spans {
		if !span.sound() {
			return Window{}, false
		}
		if i == 0 {
			window = span
		}
		window.StartNanoseconds = min(window.StartNanoseconds, span.StartNanoseconds)
		window.EndNanoseconds = max(window.EndNanoseconds, span.EndNanoseconds)
	}
	return window, len(spans) > 0
}

// WindowVerdict grades how well a common window represents the activity of the clients.
type WindowVerdict int

// Values of WindowVerdict, from best to worst.
const (
	// WindowsAgree means that every client spent at least 95 % of its time in the window.
	WindowsAgree WindowVerdict = iota
	// WindowsDiffer means that a client spent less than 95 % of its time in the window.
	WindowsDiffer
	// WindowsInvalid means that a client spent less than 80 % of its time in the window, or that there is no window.
	WindowsInvalid
)

// JudgeWindow determines how well a window represents the clients. It computes the share (0 to 1) of each client's time
// that lies in the window, and returns the smallest share and the verdict.
func JudgeWindow(window Window, spans []ClientSpan) (share float64, verdict WindowVerdict) {
	if !window.sound() || len(spans) == 0 {
		return 0, WindowsInvalid
	}
	share = 1
	for _, span := range spans {
		if !span.sound() {
			return 0, WindowsInvalid
		}
		inside := min(span.EndNanoseconds, window.EndNanoseconds) - max(span.StartNanoseconds, window.StartNanoseconds)
		share = min(share, float64(max(inside, 0))/float64(span.Nanoseconds()))
	}
	switch {
	case share < MinShareValid:
		return share, WindowsInvalid
	case share < MinShareAgree:
		return share, WindowsDiffer
	}
	return share, WindowsAgree
}

// StartSkewNanoseconds returns the time from the first client's start to the last client's start, or 0 if there are no
// clients.
func StartSkewNanoseconds(spans []ClientSpan) int64 {
	if len(spans) == 0 {
		return 0
	}
	first, last := spans[0].StartNanoseconds, spans[0].StartNanoseconds
	for _, span := range spans[1:] {
		first, last = min(first, span.StartNanoseconds), max(last, span.StartNanoseconds)
	}
	return last - first
}
