package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// process is one that belongs to a session, zombies left out.
type process struct {
	pid, ppid, session int
	command            string
	arguments          []string
}

func (p process) is(verb string) bool { return slices.Contains(p.arguments, verb) }

func (p process) String() string { return fmt.Sprintf("%d %s %v", p.pid, p.command, p.arguments) }

// processes reads those of a run from /proc: of its session, and, because fio's jobs make sessions of
// their own, those that work in its directory.
func processes(t *testing.T, session int, directory string) []process {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var found []process
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		begin, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
		fields := strings.Fields(string(text[end+1:]))
		p := process{command: string(text[begin+1 : end])}
		p.pid, _ = strconv.Atoi(strings.TrimSpace(string(text[:begin])))
		p.ppid, _ = strconv.Atoi(fields[1])
		p.session, _ = strconv.Atoi(fields[3])
		// What cannot be read is of somebody else, or has just ended.
		working, _ := os.Readlink(filepath.Join(filepath.Dir(name), "cwd"))
		if p.session != session && !strings.HasPrefix(working, directory+"/") || fields[0] == "Z" {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline")); err == nil {
			p.arguments = strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		}
		found = append(found, p)
	}
	return found
}
