package measure

import (
	"errors"
	"math"
	"testing"
)

func TestTimeBound(t *testing.T) {
	// Client 0 is faster and also runs for a second before and after the time in which both clients measure. Only this
	// common window of two seconds counts: 100,000 bytes of client 0 and 60,000 of client 1, without its warm-up. The
	// clients' own averages would add up to 105,000 bytes per second.
	alone := seriesOf(t, reads(0, second, 100_000), reads(second, 3*second, 100_000), reads(3*second, 4*second, 100_000))
	inside := seriesOf(t, warmUp(reads(0, second, 70_000)), reads(second, 3*second, 60_000))
	result, err := MeasureTimeBound([]*Series{alone, inside})
	if err != nil {
		t.Fatal(err)
	}
	if result.Window != (Window{second, 3 * second}) {
		t.Errorf("window %v", result.Window)
	}
	want := Rate{Counter: Counter{160_000, 160}, BytesPerSecond: 80_000, OperationsPerSecond: 80}
	if result.Rates[Read] != want || result.Rates[Write] != (Rate{}) {
		t.Errorf("rates %+v, want %+v", result.Rates, want)
	}
	if result.Rates.BytesPerSecond() != 80_000 {
		t.Errorf("over all operations %v", result.Rates.BytesPerSecond())
	}
	if result.Share != 0.5 || result.Verdict != WindowsInvalid || result.StartSkewNanoseconds != second || result.Coverage != 1 {
		t.Errorf("share %v, verdict %v, skew %d, coverage %v", result.Share, result.Verdict, result.StartSkewNanoseconds, result.Coverage)
	}
	if len(result.Clients) != 2 || result.Clients[0][Read].BytesPerSecond != 50_000 || result.Clients[1][Read].BytesPerSecond != 30_000 {
		t.Errorf("clients %+v", result.Clients)
	}
}

func TestTimeBoundInterpolatesEdges(t *testing.T) {
	early := seriesOf(t, reads(0, second, 1_000), reads(second, 2*second, 3_000))
	late := seriesOf(t, reads(second/2, 3*second/2, 10_000), reads(3*second/2, 5*second/2, 20_000))
	result, err := MeasureTimeBound([]*Series{early, late})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Rates[Read].Bytes; got != 500+3_000+10_000+10_000 {
		t.Errorf("%d bytes in the window", got)
	}
	if got := result.Rates[Read].BytesPerSecond; got != 23_500/1.5 {
		t.Errorf("%v bytes a second", got)
	}
}

func TestTimeBoundSeesLostSamples(t *testing.T) {
	whole := seriesOf(t, reads(0, 10*second, 1_000))
	holed := seriesOf(t, reads(0, 4*second, 1_000), reads(6*second, 10*second, 1_000))
	result, err := MeasureTimeBound([]*Series{whole, holed})
	if err != nil || result.Coverage != 0.8 {
		t.Errorf("coverage %v, %v", result.Coverage, err)
	}
}

func TestNoThroughput(t *testing.T) {
	some := seriesOf(t, reads(0, second, 1_000))
	later := seriesOf(t, reads(second, 2*second, 1_000))
	for name, clients := range map[string][]*Series{
		"no clients": nil, "an empty one": {some, {}}, "only warm-up": {some, seriesOf(t, warmUp(reads(0, second, 5)))},
		"no overlap": {some, later}, "no time": {some, seriesOf(t, reads(5, 5, 1_000))},
	} {
		if result, err := MeasureTimeBound(clients); !errors.Is(err, ErrNoCommonWindow) {
			t.Errorf("%s: %+v, error %v", name, result, err)
		}
	}
	if _, err := MeasureWorkBound([]*Series{some, {}}); !errors.Is(err, ErrNoCommonWindow) {
		t.Errorf("work-bound: error %v", err)
	}
	if _, err := MeasureWorkBound(nil); !errors.Is(err, ErrNoCommonWindow) {
		t.Errorf("work-bound of no clients: error %v", err)
	}
	if _, err := Throughput([]*Series{some}, Window{5, 5}); err == nil {
		t.Error("throughput in no time was given")
	}
	huge := seriesOf(t, reads(0, second, math.MaxUint64))
	if _, err := Throughput([]*Series{huge, some}, Window{0, second}); err == nil {
		t.Error("a sum over 64 bits was given")
	}
}

func TestWorkBound(t *testing.T) {
	first := seriesOf(t, reads(0, 6*second, 6_000))
	last := seriesOf(t, warmUp(reads(0, second, 99_000)), reads(2*second, 10*second, 4_000))
	result, err := MeasureWorkBound([]*Series{first, last})
	if err != nil {
		t.Fatal(err)
	}
	if result.Window != (Window{0, 10 * second}) || result.TailNanoseconds != 4*second || result.StartSkewNanoseconds != 2*second {
		t.Errorf("window %v, tail %d, skew %d", result.Window, result.TailNanoseconds, result.StartSkewNanoseconds)
	}
	if result.Clients[0][Read].BytesPerSecond != 1_000 || result.Clients[1][Read].BytesPerSecond != 500 {
		t.Errorf("clients %+v", result.Clients)
	}
	if got := result.Rates[Read].Bytes; got != 10_000 {
		t.Errorf("%d bytes, want 10,000 without the warm-up", got)
	}
}

func TestSpread(t *testing.T) {
	tests := []struct {
		values              []float64
		best, median, worst int // indices of clients
	}{
		{[]float64{5}, 0, 0, 0},
		{[]float64{5, 7}, 1, 0, 0},
		{[]float64{5, 9, 7}, 1, 2, 0},
		{[]float64{4, 1, 3, 2}, 0, 3, 1},
		{[]float64{5, 5, 5}, 0, 1, 2},
	}
	for _, test := range tests {
		spread, ok := SpreadOf(test.values)
		if !ok || spread.Best.Client != test.best || spread.Median.Client != test.median || spread.Worst.Client != test.worst {
			t.Errorf("%v: %+v, %v", test.values, spread, ok)
		}
		if spread.Best.Value != test.values[test.best] || spread.Median.Value != test.values[test.median] || spread.Worst.Value != test.values[test.worst] {
			t.Errorf("%v: values %+v", test.values, spread)
		}
	}
	if _, ok := SpreadOf(nil); ok {
		t.Error("no clients have a spread")
	}
}
