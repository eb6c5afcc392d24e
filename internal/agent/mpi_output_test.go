package agent

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

// TestMPIChecksOfWrites: reads that check what was written are seen, and IOR has no row of them. A step that reads too is
// told so, and nothing else of bytes that do not agree; one that only writes has no reads in its figures.
func TestMPIChecksOfWrites(t *testing.T) {
	t.Parallel()
	const bytes = 16 << 20
	j := newJob(t, 1, 2)
	arguments := []string{"-a", "POSIX", "-t", "1m", "-b", "8m", "-s", "1", "-F", "-k", "-l", "o", "-G", "7", "-W", "-w", "-o", "data", "-O", "summaryFormat=CSV"}
	j.begin("both", noLimit, func(tool *agentapi.MpiTool) {
		tool.Operations, tool.Repetitions = []uint32{uint32(measure.Write), uint32(measure.Read)}, 1
	}, "ior", append([]string{"-r", "-R"}, arguments...)...)
	both, _ := j.end("both")
	j.begin("write", noLimit, oneWrite, "ior", arguments...)
	write, _ := j.end("write")
	j.nothingLeftOf()
	// Once as the check of the write, once as the read.
	for operation, want := range map[measure.Operation]uint64{measure.Write: bytes, measure.Read: 2 * bytes} {
		var got uint64
		for _, one := range both[0].GetOperations() {
			if measure.Operation(one.GetOperation()) == operation {
				got = one.GetBytes()
			}
		}
		if got < want || got > want+want/50 {
			t.Errorf("%v of %d bytes, want %d: %v", operation, got, want, both[0])
		}
	}
	for _, repetition := range both[0].GetMpi().GetRepetitions() {
		if repetition.GetBytes() != bytes || !repetition.GetBytesExact() {
			t.Errorf("IOR's own figures are %v, want %d bytes", repetition, bytes)
		}
	}
	if told := both[0].GetNotices(); len(told) != 1 || told[0].GetWarning() != "BytesUncertain" || !strings.Contains(told[0].GetMessage(), "read back to check") {
		t.Errorf("both: %v", told)
	}
	if len(write[0].GetOperations()) != 1 || len(write[0].GetNotices()) > 0 {
		t.Errorf("write: %v", write[0])
	}
}
