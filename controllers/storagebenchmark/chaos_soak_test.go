package storagebenchmark

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

// TestDyingAtAnyWriteChangesNothing lets the operator die before and after every write of each sequence.
func TestDyingAtAnyWriteChangesNothing(t *testing.T) {
	soak.Only(t)
	diesAt(t, func(int, int) (first, stride int) { return 0, 1 })
}

// TestManySeedsChangeNothing lets the operator die often and its cache lag, with many random seeds.
func TestManySeedsChangeNothing(t *testing.T) {
	soak.Only(t)
	diesOften(t, 30)
	lags(t, 30)
}

// TestOperatorDiesAtAnyWrite lets the operator die before and after each of its writes to a real API server.
func TestOperatorDiesAtAnyWrite(t *testing.T) {
	soak.Only(t)
	var all []death
	for n := 1; n <= writes; n++ {
		all = append(all, death{n, false}, death{n, true})
	}
	diesAtWrites(t, all...)
}

// TestGateOfMoreVerdicts covers the verdicts that TestGate leaves out.
func TestGateOfMoreVerdicts(t *testing.T) {
	soak.Only(t)
	gateEnds(t,
		gateCase{name: "objective missed", ends: func(b *bed) { b.ends(at(50)) }, code: 2, told: "ObjectiveMissed: run bench-"},
		gateCase{name: "failed", ends: func(b *bed) { b.ends(failed) }, code: 1, told: "StartTimeout: run bench-"},
		gateCase{name: "replaced", ends: func(b *bed) { b.loses(replaced) }, code: 1, told: "has no verdict: it was preempted", waits: true})
}
