package measure

// Counter holds the bytes and the number of completed operations of one kind.
type Counter struct {
	Bytes      uint64 `json:"bytes"`
	Operations uint64 `json:"operations"`
}

// Sample holds the I/O that one client completed between two instants of one clock.
type Sample struct {
	StartNanoseconds int64                  `json:"startNanoseconds"`
	EndNanoseconds   int64                  `json:"endNanoseconds"`
	Counters         [NumOperations]Counter `json:"counters"`
	// WarmUp is true for I/O of the warm-up, which spends credits but is not part of a result.
	WarmUp bool `json:"warmUp,omitempty"`
}
