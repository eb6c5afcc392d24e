package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/storagebench/storagebench/internal/process"
)

// commandName is the only program that a user's command may run. Its arguments are write=BYTES, read=BYTES,
// cached=BYTES (reads from the page cache), say=TEXT and exit=CODE.
const commandName = "load"

// commandBlock is the size of its requests in bytes. One request is outstanding at a time.
const commandBlock = 1 << 20

// supervise simulates `agent supervise` and the program that it runs.
func (m *Machine) supervise(p *Process, command *exec.Cmd, news io.Writer) syscall.WaitStatus {
	program, err := m.add(commandName, p)
	if err != nil {
		return exited(1)
	}
	program.counted = process.IO{} // Its arguments specify all of its I/O.
	code, signal := m.command(program, command.Args[4:], command.Stdout)
	status := exited(code)
	if signal != 0 {
		status = syscall.WaitStatus(signal)
	}
	program.end(status)
	if p.hasEnded() {
		return status
	}
	counted, _ := m.ReadIO(p.pid)
	text, err := json.Marshal(counted)
	if err != nil {
		panic(err) // It contains only numbers.
	}
	_, _ = fmt.Fprintf(news, "ended %d %d\ncounted %s\n", code, signal, text)
	if signal != 0 {
		return exited(128 + signal)
	}
	return exited(code)
}

// command carries out the program's arguments, and returns its exit code and the signal that ended it.
func (m *Machine) command(p *Process, words []string, output io.Writer) (code, signal int) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		number, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "say":
			_, _ = fmt.Fprintln(output, value)
		case "exit":
			code = int(number)
		case "cached":
			m.mu.Lock()
			p.counted = p.counted.Add(process.IO{ReadBytes: uint64(number), ReadCalls: uint64(number / commandBlock)})
			m.mu.Unlock()
		case "read", "write":
			percent := map[string]int{"read": 100}[name]
			f := p.begin(demand{readPercent: percent, blockBytes: commandBlock, depth: 1, work: number})
			whole := await([]*flow{f}, p.term)
			if !whole {
				f.stop()
				await([]*flow{f}, nil)
			}
			m.mu.Lock()
			p.settle()
			m.mu.Unlock()
			if !whole {
				return 0, int(syscall.SIGTERM)
			}
		}
	}
	return code, 0
}

func (p *Process) hasEnded() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}
