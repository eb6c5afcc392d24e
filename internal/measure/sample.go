package measure

// Counter is what was completed of one operation.
type Counter struct {
	Bytes      uint64 `json:"bytes"`
	Operations uint64 `json:"operations"`
}

// Sample is what one client completed between two instants of one clock.
type Sample struct {
	StartNanoseconds int64                  `json:"startNanoseconds"`
	EndNanoseconds   int64                  `json:"endNanoseconds"`
	Counters         [NumOperations]Counter `json:"counters"`
	// WarmUp marks I/O of a warm-up, which spends credits but is no part of a result.
	WarmUp bool `json:"warmUp,omitempty"`
}
