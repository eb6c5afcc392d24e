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

// process is a process of a run. Zombies do not count.
type process struct {
	pid, ppid, session int
	command            string
	arguments          []string
}

func (p process) is(verb string) bool { return slices.Contains(p.arguments, verb) }

func (p process) String() string { return fmt.Sprintf("%d %s %v", p.pid, p.command, p.arguments) }

// processes returns the processes of a run from /proc: those of its session, and those whose working directory is in
// its directory, because fio's jobs create their own sessions.
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
		// Readlink fails for a process that has just ended or belongs to another user.
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
