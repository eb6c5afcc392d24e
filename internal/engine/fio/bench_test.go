package fio

import "testing"

// The cost of a dump a second has to be nothing beside the load.
func BenchmarkDecode(b *testing.B) {
	var stream Stream
	output := readRecording(b, "mixed-four-jobs").stdout
	b.SetBytes(int64(len(output)))
	for b.Loop() {
		_, _ = stream.Write(output)
		stream.Documents()
	}
}
