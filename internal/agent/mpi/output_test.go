package mpi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/internal/measure"
)

// TestOutputLeavesOutWhatIsExpected checks that warnings about existing files, as each version of IOR words them, do
// not become notices. All other warnings do.
func TestOutputLeavesOutWhatIsExpected(t *testing.T) {
	t.Parallel()
	output := newOutput(&part{load: &agentapi.MpiTool{Program: "ior", Arguments: []string{"-w", "-s", "12"}}})
	if output.ior.Segments != 12 {
		t.Errorf("it reads %d segments", output.ior.Segments)
	}
	for text, expected := range map[string]bool{
		`The file "ior.data.00000001" exists already and will be overwritten`: true, // 4.0.0; later versions with -E
		`The file "ior.data.00000001" exists already and will be deleted`:     true, // after 4.0.0
		"inconsistent file size by different tasks":                           false,
	} {
		if got := output.isExpected(ior.Warning{Kind: ior.WarnToolMessages, Message: text}); got != expected {
			t.Errorf("%q: expected %t, want %t", text, got, expected)
		}
	}
}

// TestOutputOfManyRepetitions checks that a result is cut to the repetitions that fit into a message, with a notice.
func TestOutputOfManyRepetitions(t *testing.T) {
	t.Parallel()
	for _, count := range []int{maxSentRepetitions, maxSentRepetitions + 1} {
		output := newOutput(&part{load: &agentapi.MpiTool{Program: "ior"}})
		var text strings.Builder
		text.WriteString("access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n")
		for i := range count {
			fmt.Fprintf(&text, "write,1.0,1.0,1.0,1024.0,1024.0,0.0,1.0,0.0,1.0,1,%d\n", i)
		}
		_, _ = output.ior.Write([]byte(text.String()))
		ended := output.judge(ior.Exit{}, "", job{hosts: []host{{Slots: 1}}})
		if sent := len(ended.GetMpi().GetRepetitions()); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || sent != maxSentRepetitions {
			t.Fatalf("%d repetitions: %v %s, sent %d", count, ended.GetOutcome(), ended.GetMessage(), sent)
		}
		warning := ""
		for _, notice := range ended.GetNotices() {
			if notice.GetWarning() == "ResultIncomplete" {
				warning = notice.GetMessage()
			}
		}
		if cut := count > maxSentRepetitions; cut != strings.Contains(warning, "completed 16385 repetitions") || !cut && warning != "" {
			t.Errorf("%d repetitions: warning %q", count, warning)
		}
	}
}

// TestOutputComparesEqualWork checks that the bytes of hosts are compared only if all hosts do the same work: not after
// a stonewall, unless the ranks wear it out.
func TestOutputComparesEqualWork(t *testing.T) {
	t.Parallel()
	repetitions := []ior.Repetition{{Operation: measure.Write, Bytes: 100 * mebibyte}}
	for arguments, compared := range map[string]bool{
		"-w":                                true,
		"-w -D 30":                          false,
		"-w -D 30 -O stoneWallingWearOut=1": true,
	} {
		output := newOutput(&part{load: &agentapi.MpiTool{Program: "ior", Arguments: strings.Fields(arguments)}})
		output.seen.WriteBytes = 40 * mebibyte
		ended := &agentapi.Ended{}
		output.compare(ended, repetitions, job{hosts: []host{{Slots: 1}, {Slots: 1}}})
		if got := len(ended.GetNotices()) > 0; got != compared {
			t.Errorf("%s: %v", arguments, ended.GetNotices())
		}
	}
}
