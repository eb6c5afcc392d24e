package fio

import "testing"

// BenchmarkDecode measures the cost of decoding a dump. At one dump per second, it must be negligible beside the load.
func BenchmarkDecode(b *testing.B) {
	var stream Stream
	output := readRecording(b, "mixed-four-jobs").stdout
	b.SetBytes(int64(len(output)))
	for b.Loop() {
		_, _ = stream.Write(output)
		stream.Documents()
	}
}
