package measure

import (
	"testing"

	"pgregory.net/rapid"
)

// The figures are those measured with real fio, in the comment of AlignOperations.
func TestAlignOperationsOfALateDump(t *testing.T) {
	const millisecond = second / 1_000
	byBytes, byOperations := &Series{}, &Series{}
	var snapshot, written int64
	for _, dump := range []struct {
		timestamp, runtime int64 // differences in ms
		bytes, operations  uint64
	}{
		{999, 1_001, 41_900_000, 639},
		{5_480, 998, 40_700_000, 2_802},
		{31, 4_514, 151_300_000, 137},
		{1_057, 1_001, 81_300_000, 1_263},
	} {
		sample := Sample{StartNanoseconds: snapshot, EndNanoseconds: snapshot + dump.runtime*millisecond}
		sample.Counters[Write].Bytes = dump.bytes
		snapshot = sample.EndNanoseconds
		if err := byBytes.Append(sample); err != nil {
			t.Fatal(err)
		}
		sample = Sample{StartNanoseconds: written, EndNanoseconds: written + dump.timestamp*millisecond}
		sample.Counters[Write].Operations = dump.operations
		written = sample.EndNanoseconds
		if err := byOperations.Append(sample); err != nil {
			t.Fatal(err)
		}
	}
	aligned, err := AlignOperations(byBytes, byOperations)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := aligned.Total()[Write], (Counter{315_200_000, 4_841}); got != want {
		t.Errorf("in all %+v, want %+v", got, want)
	}
	for i, wantMegabytes := range []float64{41.9, 40.8, 33.5, 81.2} {
		window := Window{aligned.At(i).StartNanoseconds, aligned.At(i).EndNanoseconds}
		rates, err := Throughput([]*Series{aligned}, window)
		if err != nil {
			t.Fatal(err)
		}
		if got := rates[Write].BytesPerSecond / 1e6; got < wantMegabytes-0.1 || got > wantMegabytes+0.1 {
			t.Errorf("sample %d: %.1f MB/s, want %.1f", i, got, wantMegabytes)
		}
		// Every operation is 64 KiB, so operations must tell the same story, but for the
		// sharing out of the 5.5 s whose operations are known as one number.
		if got := rates[Write].OperationsPerSecond * 65_536 / 1e6; got < wantMegabytes*0.8 || got > wantMegabytes*1.2 {
			t.Errorf("sample %d: %.1f MB/s by operations, want about %.1f", i, got, wantMegabytes)
		}
	}
}

func TestAlignOperationsKeepsTotals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		byBytes, byOperations := genSeries().Draw(t, "bytes"), genSeries().Draw(t, "operations")
		aligned, err := AlignOperations(byBytes, byOperations)
		if err != nil {
			if byBytes.Len() != 0 {
				t.Fatal(err)
			}
			return
		}
		for i, c := range aligned.Total() {
			if c.Bytes != byBytes.Total()[i].Bytes || c.Operations != byOperations.Total()[i].Operations {
				t.Fatalf("in all %+v of %v, want the bytes of %+v and the operations of %+v",
					c, Operation(i), byBytes.Total()[i], byOperations.Total()[i])
			}
		}
	})
}
