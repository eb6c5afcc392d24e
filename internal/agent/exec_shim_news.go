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

// tended is what `agent tend` has told of a program.
type tended struct {
	// failed says why it could not be started.
	failed string
	// exit is how it ended, startedAt and endedAt when it was told so; 0 where it was not.
	exit               command.Exit
	startedAt, endedAt int64
	// left names what it had left running, which was killed.
	left string
	// counted is all that it and what it had started have read and written; nil where it could not tell.
	counted *process.IO
}

// maxNewsBytes is more than all that is told: names of processes are short.
const maxNewsBytes = 4 << 10

// follow reads what is told, to its end, and calls ended when the program itself has ended.
func (t *tended) follow(from io.Reader, clock Clock, ended func()) {
	lines := bufio.NewScanner(io.LimitReader(from, maxNewsBytes))
	for lines.Scan() {
		word, text, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case tendStarted:
			t.startedAt = clock.Monotonic()
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
				ended()
			}
		}
	}
	// The program has no way to this pipe; should there be more all the same, it is not to hold anybody up.
	_, _ = io.Copy(io.Discard, from)
}
