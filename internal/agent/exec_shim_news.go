package agent

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/storagebench/storagebench/internal/engine/command"
	"github.com/storagebench/storagebench/internal/process"
)

// tended holds what `agent tend` has reported about a program.
type tended struct {
	// failed is why the program could not be started.
	failed string
	// exit is how it ended, endedAt when that was reported; 0 if it was not.
	exit    command.Exit
	endedAt int64
	// left names the processes that it had left running, which were killed.
	left string
	// counted is what it and all that it had started have read and written; nil if that was not reported.
	counted *process.IO
}

// maxNewsBytes is more than all reports together, because process names are short.
const maxNewsBytes = 4 << 10

// follow reads the reports to their end.
func (t *tended) follow(from io.Reader, clock Clock) {
	lines := bufio.NewScanner(io.LimitReader(from, maxNewsBytes))
	for lines.Scan() {
		word, text, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case tendFailed:
			t.failed = text
		case tendLeft:
			t.left = text
		case tendCounted:
			var counters process.IO
			if err := json.Unmarshal([]byte(text), &counters); err == nil {
				t.counted = &counters
			}
		case tendEnded:
			var code, signal int
			if _, err := fmt.Sscanf(text, "%d %d", &code, &signal); err == nil {
				t.exit, t.endedAt = command.Exit{Code: code, Signal: syscall.Signal(signal)}, clock.Monotonic()
			}
		}
	}
	// The program cannot write to this pipe. If there is more all the same, read it, so that no writer blocks.
	_, _ = io.Copy(io.Discard, from)
}
