package mpi

import (
	"testing"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// TestOutputLeavesOutWhatIsExpected: warnings about existing files are expected, in the wording of every version of
// IOR; all other warnings become notices.
func TestOutputLeavesOutWhatIsExpected(t *testing.T) {
	t.Parallel()
	output := newOutput(&part{load: &agentapi.MpiTool{Program: "ior", Arguments: []string{"-w", "-s", "12"}}})
	if output.ior.Segments != 12 {
		t.Errorf("it reads %d segments", output.ior.Segments)
	}
	for text, expected := range map[string]bool{
		`The file "ior.data.00000001" exists already and will be overwritten`: true, // 4.0.0, and later with -E
		`The file "ior.data.00000001" exists already and will be deleted`:     true, // after 4.0.0
		"inconsistent file size by different tasks":                           false,
	} {
		if got := output.isExpected(ior.Warning{Kind: ior.WarnToolMessages, Message: text}); got != expected {
			t.Errorf("%q: expected %t, want %t", text, got, expected)
		}
	}
}
