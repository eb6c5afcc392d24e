package measure

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Rate holds the completed I/O of one kind of operation, and its rates.
type Rate struct {
	Counter
	BytesPerSecond      float64 `json:"bytesPerSecond"`
	OperationsPerSecond float64 `json:"operationsPerSecond"`
}

// Rates holds a Rate for each operation, indexed by Operation.
type Rates [NumOperations]Rate

// BytesPerSecond returns the throughput, summed over all kinds of operations.
func (r *Rates) BytesPerSecond() float64 {
	var sum float64
	for i := range r {
		sum += r[i].BytesPerSecond
	}
	return sum
}

// Throughput returns the I/O that all clients completed in the window, interpolated at its edges, and the rates over
// the length of the window. It returns an error if the window is empty or a sum does not fit in 64 bits.
func Throughput(series []*Series, window Window) (Rates, error) {
	if !window.sound() {
		return Rates{}, fmt.Errorf("throughput: the window from %d to %d ns is empty", window.StartNanoseconds, window.EndNanoseconds)
	}
	counters := make([][NumOperations]Counter, len(series))
	for client, one := range series {
		counters[client] = one.CountersIn(window)
	}
	sum, err := sumOf(counters)
	if err != nil {
		return Rates{}, fmt.Errorf("throughput: %w", err)
	}
	return ratesOf(sum, window), nil
}

func sumOf(clients [][NumOperations]Counter) ([NumOperations]Counter, error) {
	// Add the counters as samples of a series, because Append checks for overflow.
	sum := &Series{}
	for client, counters := range clients {
		if err := sum.Append(Sample{Counters: counters}); err != nil {
			return sum.Total(), fmt.Errorf("client %d: %w", client, err)
		}
	}
	return sum.Total(), nil
}

func ratesOf(counters [NumOperations]Counter, window Window) Rates {
	var rates Rates
	seconds := window.Seconds()
	for i, c := range counters {
		rates[i] = Rate{
			Counter:             c,
			BytesPerSecond:      float64(c.Bytes) / seconds,
			OperationsPerSecond: float64(c.Operations) / seconds,
		}
	}
	return rates
}

// TimeBound is the throughput of a step in which every client runs for a fixed time.
type TimeBound struct {
	// Window is the time in which every client was running.
	Window Window
	Rates  Rates
	// Share is the share (0 to 1) of a client's measured time that lies in the window. It is the smallest over all
	// clients.
	Share   float64
	Verdict WindowVerdict
	// StartSkewNanoseconds is the time from the first client's start to the last client's start.
	StartSkewNanoseconds int64
	// Coverage is the share (0 to 1) of the window that a client's samples cover. It is the smallest over all clients. If
	// it is less than 1, samples were lost and the rates are too low.
	Coverage float64
	// Clients holds the rates of each client in the window, in the order of the series.
	Clients []Rates
}

// ErrNoCommonWindow is returned if there was no time in which every client was running.
var ErrNoCommonWindow = errors.New("the clients never ran at the same time")

// MeasureTimeBound computes the throughput as all bytes in the common window, divided by the length of the window. It
// is not the sum of the clients' own averages, which would include times when some clients had the storage to
// themselves. The error wraps ErrNoCommonWindow if a client measured nothing or the clients did not overlap.
func MeasureTimeBound(series []*Series) (TimeBound, error) {
	spans, err := spansOf(series)
	if err != nil {
		return TimeBound{}, err
	}
	window, ok := CommonWindow(spans)
	if !ok {
		return TimeBound{}, fmt.Errorf("throughput of %d clients: %w", len(series), ErrNoCommonWindow)
	}
	result := TimeBound{
		Window:               window,
		StartSkewNanoseconds: StartSkewNanoseconds(spans),
		Coverage:             1,
	}
	result.Share, result.Verdict = JudgeWindow(window, spans)
	if result.Rates, err = Throughput(series, window); err != nil {
		return TimeBound{}, err
	}
	for _, one := range series {
		result.Clients = append(result.Clients, ratesOf(one.CountersIn(window), window))
		covered := float64(one.CoveredNanoseconds(window)) / float64(window.Nanoseconds())
		result.Coverage = min(result.Coverage, covered)
	}
	return result, nil
}

// WorkBound is the throughput of a step in which every client does a fixed amount of work.
type WorkBound struct {
	// Window is the time from the first client's start to the last client's end.
	Window Window
	Rates  Rates
	// TailNanoseconds is the time from the first client's end to the last client's end, in which not all clients
	// were running.
	TailNanoseconds      int64
	StartSkewNanoseconds int64
	// Clients holds the rates of each client, computed over the client's own measured time instead of the window, in
	// the order of the series.
	Clients []Rates
}

// MeasureWorkBound computes the throughput as all bytes, except those of warm-ups, divided by the time from the first
// client's start to the last client's end. The error wraps ErrNoCommonWindow if a client measured nothing.
func MeasureWorkBound(series []*Series) (WorkBound, error) {
	spans, err := spansOf(series)
	if err != nil {
		return WorkBound{}, err
	}
	window, ok := wholeWindow(spans)
	if !ok {
		return WorkBound{}, fmt.Errorf("throughput of %d clients: a client has no samples: %w", len(series), ErrNoCommonWindow)
	}
	result := WorkBound{Window: window, StartSkewNanoseconds: StartSkewNanoseconds(spans)}
	counters := make([][NumOperations]Counter, len(series))
	for client, one := range series {
		// Use each client's own span, because its warm-up can lie in the common window.
		counters[client] = one.CountersIn(spans[client])
		result.Clients = append(result.Clients, ratesOf(counters[client], spans[client]))
	}
	sum, err := sumOf(counters)
	if err != nil {
		return WorkBound{}, fmt.Errorf("throughput: %w", err)
	}
	result.Rates = ratesOf(sum, window)
	firstEnd := slices.MinFunc(spans, func(a, b ClientSpan) int {
		return cmp.Compare(a.EndNanoseconds, b.EndNanoseconds)
	}).EndNanoseconds
	result.TailNanoseconds = window.EndNanoseconds - firstEnd
	return result, nil
}

func spansOf(series []*Series) ([]ClientSpan, error) {
	spans := make([]ClientSpan, len(series))
	for i, one := range series {
		span, ok := one.Span()
		if !ok {
			return nil, fmt.Errorf("throughput: client %d has no samples: %w", i, ErrNoCommonWindow)
		}
		spans[i] = span
	}
	return spans, nil
}
