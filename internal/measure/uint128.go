package measure

// Uint128 is an unsigned integer of 128 bits: enough for the sum of 2^64 latencies.
type Uint128 struct {
	High uint64
	Low  uint64
}
