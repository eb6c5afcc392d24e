package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
)

// recordedRuns is the directory with recorded output of real fio.
const recordedRuns = "../engine/fio/testdata/runs/"

// scripted replaces fio with a shell script. The test controls its output, its exit code and the agent's clock.
type scripted struct {
	t      *testing.T
	clock  *agenttest.Clock
	folder string
	output *os.File
}

// serveScripted serves an agent that runs a scripted program instead of fio.
func serveScripted(t *testing.T) (*rig, *scripted) {
	t.Helper()
	s := &scripted{t: t, clock: &agenttest.Clock{}, folder: t.TempDir()}
	must(t, unix.Mkfifo(s.path("output"), 0o600))
	var err error
	// Open the FIFO for reading and writing: open does not block, and no reader sees an early end of file.
	s.output, err = os.OpenFile(s.path("output"), os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { _ = s.output.Close() })
	r := serve(t, func(a *Agent) {
		a.env.Clock = s.clock
		a.env.Config.FioPath = executable(t, fioVersion+fmt.Sprintf(`
trap 'echo > %[1]s/told' INT
exec 3< %[1]s/output
echo > %[1]s/ready
cat > /dev/null
cat <&3 &
while :; do wait $!; [ $? -gt 128 ] || break; done
exit $(cat %[1]s/code)
`, s.folder))
	})
	return r, s
}

func (s *scripted) path(name string) string { return filepath.Join(s.folder, name) }

// says sets the clock to the time of a dump and prints the dump.
func (s *scripted) says(one agenttest.Dump) {
	s.t.Helper()
	s.clock.Set(one.Milliseconds, 0)
	_, err := s.output.Write(one.Text)
	must(s.t, err)
}

// ready waits until the program handles SIGINT and has opened its output; once the test has closed the output, opening
// it would block forever. told waits until the program has received SIGINT.
func (s *scripted) ready() { s.has("ready") }
func (s *scripted) told()  { s.has("told") }

func (s *scripted) has(name string) {
	s.t.Helper()
	eventually(s.t, "it is not "+name, func() bool {
		_, err := os.Stat(s.path(name))
		return err == nil
	})
}

// ends makes the program exit with the given code.
func (s *scripted) ends(code int) {
	s.t.Helper()
	must(s.t, os.WriteFile(s.path("code"), []byte(itoa(code)), 0o600))
	must(s.t, s.output.Close())
}
