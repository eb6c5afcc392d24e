package agent

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// lateStore simulates an attribute cache: files appear to use no space for an hour after they were written.
const lateStore = "spaceLate: 1h\n"

// TestLayoutWhoseSpaceIsReportedLate checks that a layout counts as written if fio's own count says so, although the
// reported disk usage is too small. SMB with default mount options reports old figures for a second after fio has
// ended.
func TestLayoutWhoseSpaceIsReportedLate(t *testing.T) {
	t.Parallel()
	s := mountStore(t, lateStore)
	r := serveAt(t, s.directory, nil)
	layout := lays("layout", "abc")
	layout.GetFio().Job += "fallocate=none\n" // Otherwise the space is allocated before the first write.
	if !r.laysOut(layout) {
		t.Fatal("the first did not write")
	}
	read := request("read", strings.Replace(quickWrite, "rw=write", "rw=read", 1))
	read.Dataset = &agentapi.Dataset{Reads: lays("", "").GetDataset().GetFiles(), Files: lays("", "").GetDataset().GetFiles()}
	ended, records := r.run(read, time.Minute)
	if said, warned := notices(ended, records)["WrittenUnknown"]; ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || ended.GetUnwrittenBytes() != 0 || warned {
		t.Errorf("a read of what was laid out: %s, %d bytes unwritten, %q", ended.GetOutcome(), ended.GetUnwrittenBytes(), said)
	}
	if r.laysOut(lays("again", "abc")) {
		t.Error("the layout was not used again")
	}
}

// TestLayoutOfLessOnALateStore checks that a layout is incomplete if both fio's count and the disk usage show missing
// data.
func TestLayoutOfLessOnALateStore(t *testing.T) {
	t.Parallel()
	s := mountStore(t, lateStore)
	load := lays("layout", "abc")
	load.GetFio().Job = strings.Replace(load.GetFio().GetJob(), "rw=write", "rw=write\nfilesize=1m\nio_size=512k\nfallocate=none", 1)
	load.GetFio().WrittenBytes = 0
	ended, _ := serveAt(t, s.directory, nil).run(load, time.Minute)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != "LayoutIncomplete" {
		t.Errorf("half a layout: %s, %s", ended.GetOutcome(), ended.GetReason())
	}
}

// TestReadOfAFileWhoseSpaceIsReportedLate checks that reading a file that no step has laid out gives a warning if its
// disk usage is still too small after the wait, because nothing else proves how much of it was written.
func TestReadOfAFileWhoseSpaceIsReportedLate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config string
		unsure bool
	}{
		"for an hour":      {lateStore, true},
		"for 100 ms":       {"spaceLate: 100ms\n", false},
		"it is compressed": {"compression: {algorithm: lz4}\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serveAt(t, mountStore(t, test.config).directory, nil)
			r.put("data.0.0", func(file *os.File) {
				_, err := file.Write(bytes.Repeat([]byte("the same again! "), 1<<16))
				must(t, err)
			})
			read := request("read", strings.Replace(quickWrite, "rw=write", "rw=read", 1))
			read.Dataset = &agentapi.Dataset{Reads: []*agentapi.DataFile{{Name: "data.0.0", Bytes: 1 << 20}}}
			ended, records := r.run(read, time.Minute)
			said, warned := notices(ended, records)["WrittenUnknown"]
			if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE || ended.GetUnwrittenBytes() != 0 || warned != test.unsure {
				t.Errorf("%s, %d bytes unwritten, %q", ended.GetOutcome(), ended.GetUnwrittenBytes(), said)
			}
		})
	}
}
