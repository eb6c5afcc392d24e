package fio

import "testing"

// Decoding one dump per second must cost a negligible amount of CPU time compared to the load.
func BenchmarkDecode(b *testing.B) {
	var stream Stream
	output := readRecording(b, "mixed-four-jobs").stdout
	b.SetBytes(int64(len(output)))
	for b.Loop() {
		_, _ = stream.Write(output)
		stream.Documents()
	}
}
