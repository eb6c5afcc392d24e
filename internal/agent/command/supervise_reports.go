package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/engine/command"
	"github.com/storagebench/storagebench/internal/process"
)

// superviseReports holds what `agent supervise` has reported about a program.
type superviseReports struct {
	// failed is the reason why the program could not be started.
	failed string
	// exit describes how the program ended. endedAt is the time at which the exit was reported, or 0 if there is no
	// report.
	exit    command.Exit
	endedAt int64
	// ended is closed when the exit of the program is reported.
	ended chan struct{}
	// left names the processes that the program left running and that were killed.
	left string
	// counted holds the bytes that the program and its descendants read and wrote, or nil if they were not reported.
	counted *process.IO
}

// maxReportBytes limits how many bytes of reports are read. All reports together are shorter, because process names are
// short.
const maxReportBytes = 4 << 10

// follow reads the reports until end of file.
func (t *superviseReports) follow(from io.Reader, clock tool.Clock) {
	lines := bufio.NewScanner(io.LimitReader(from, maxReportBytes))
	for lines.Scan() {
		word, text, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case superviseFailed:
			t.failed = text
		case superviseLeft:
			t.left = text
		case superviseCounted:
			var counters process.IO
			if err := json.Unmarshal([]byte(text), &counters); err == nil {
				t.counted = &counters
			}
		case superviseEnded:
			var code, signal int
			if _, err := fmt.Sscanf(text, "%d %d", &code, &signal); err == nil && t.endedAt == 0 {
				t.exit, t.endedAt = command.Exit{Code: code, Signal: syscall.Signal(signal)}, clock.Monotonic()
				close(t.ended)
			}
		}
	}
	// The program cannot write to this pipe. Drain any further output anyway, so that no writer blocks.
	_, _ = io.Copy(io.Discard, from)
}
