package chaos

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/soak"
)

var kills = flag.Int("kills", 50, "how many runs are killed")

const benchmark = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: chaos}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}]}]
    clients: {count: 2, spread: Any}
    workload: {fio: {pattern: Random, readPercent: 50, blockSize: 4Ki, jobs: 2, queueDepth: 4, datasetSize: 8Mi}}
    phases:
    - {name: layout, prepare: {}}
    - {name: mixed, steady: {duration: 2s}}
`

// TestKillAnything runs the real program with real fio many times, and kills one process of each run: the guard, the
// runner, an agent, fio, or a job of fio. No process or file may remain, and the result must report what happened.
func TestKillAnything(t *testing.T) {
	program := build(t)
	random := rand.New(rand.NewPCG(soak.Seed(t), 1))
	outcomes, killed := map[string]int{}, map[string]int{}
	length := undisturbed(t, program)
	t.Logf("an undisturbed run takes %s", length)
	for i, planned := range draw(random, *kills, length) {
		victim, delay := planned.victim, planned.delay
		t.Run(fmt.Sprintf("%02d-%s-after-%s", i, victim.name, delay.Round(time.Millisecond)), func(t *testing.T) {
			outcome, hit := runAndKill(t, program, victim, delay, random)
			outcomes[outcome]++
			if hit {
				killed[victim.name]++
			}
		})
	}
	soak.Report(t, "killed runs", "outcomes: %v; killed: %v", outcomes, killed)
	for _, victim := range victims {
		if *kills >= 50 && killed[victim.name] == 0 {
			t.Errorf("no %s was killed: none was running when it was due", victim.name)
		}
	}
}

// planned is a kill: the victim, and the delay after the start of its run.
type planned struct {
	victim victim
	delay  time.Duration
}

// draw plans kills in random order. Each victim gets an equal share of them. A victim's kills are spread over the
// length of a run: one at a random time in each equal part. If victims and times were independent, 1.5 % of all tests
// (0.92^50) would never kill fio, which is running for four tenths of a run.
func draw(random *rand.Rand, count int, length time.Duration) []planned {
	var all []planned
	for i, victim := range victims {
		share := (count + len(victims) - 1 - i) / len(victims)
		part := length / time.Duration(max(1, share))
		for k := range share {
			all = append(all, planned{victim, time.Duration(k)*part + time.Duration(random.Int64N(int64(part)))})
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// undisturbed returns the duration of a run without a kill: 4.5 s on an idle machine, twice as long on a busy one.
func undisturbed(t *testing.T, program string) time.Duration {
	t.Helper()
	command := prepared(t, program, t.TempDir())
	began := time.Now()
	err := command.Run()
	if code := exitCode(err); code == report.ExitFailed {
		t.Fatalf("a run without a kill: %v", err)
	}
	return time.Since(began)
}

func prepared(t *testing.T, program, directory string) *exec.Cmd {
	t.Helper()
	spec := filepath.Join(t.TempDir(), "bench.yaml")
	if err := os.WriteFile(spec, []byte(benchmark), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.Command(program, "run", "--local", "-f", spec, "--target", "data="+directory, "-o", "json")
}

func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "kubectl-storagebench")
	output, err := exec.Command("go", "build", "-o", program, "github.com/storagebench/storagebench/cmd/kubectl-storagebench").CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	return program
}

// victim is a kind of process of a run. match finds it among the run's processes.
type victim struct {
	name  string
	match func(process, []process) bool
}

var victims = []victim{
	{"guard", func(p process, _ []process) bool { return p.pid == p.session }},
	{"runner", func(p process, _ []process) bool { return p.ppid == p.session && p.is("run") }},
	{"agent", func(p process, _ []process) bool { return p.is("agent") }},
	{"fio", func(p process, all []process) bool { return p.command == "fio" && !isChildOfFio(p, all) }},
	{"fio-job", func(p process, all []process) bool { return p.command == "fio" && isChildOfFio(p, all) }},
}

func isChildOfFio(p process, all []process) bool {
	for _, parent := range all {
		if parent.pid == p.ppid {
			return parent.command == "fio"
		}
	}
	return false
}

// runAndKill starts a run and kills the victim after the delay. It returns a summary of the outcome, and whether a
// victim was running.
func runAndKill(t *testing.T, program string, victim victim, delay time.Duration, random *rand.Rand) (string, bool) {
	t.Helper()
	directory := t.TempDir()
	stdout, stderr := create(t, "stdout"), create(t, "stderr")
	command := prepared(t, program, directory)
	command.Stdout, command.Stderr = stdout, stderr
	// The session identifies the remaining processes of the run.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	session := command.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	time.Sleep(delay)
	killed := kill(t, session, directory, victim, random)
	var err error
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("the run has not ended a minute after a %s was killed\n%s", victim.name, read(t, stderr))
	}
	t.Logf("killed a %s: %v", victim.name, killed)
	nothingRuns(t, session, directory)
	nothingIsLeft(t, directory)
	return judge(t, victim, killed, err, stdout, stderr), killed
}

func create(t *testing.T, name string) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

func read(t *testing.T, file *os.File) string {
	t.Helper()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kill kills a random process that matches the victim. It returns false if there is none.
func kill(t *testing.T, session int, directory string, victim victim, random *rand.Rand) bool {
	t.Helper()
	all := processes(t, session, directory)
	var found []process
	for _, p := range all {
		if victim.match(p, all) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return false
	}
	err := syscall.Kill(found[random.IntN(len(found))].pid, syscall.SIGKILL)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	return err == nil
}

func nothingRuns(t *testing.T, session int, directory string) {
	t.Helper()
	var left []process
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = processes(t, session, directory); len(left) == 0 {
			return
		}
	}
	t.Errorf("these processes are left: %v", left)
	for _, p := range left {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

func nothingIsLeft(t *testing.T, directory string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		return
	}
	var names []string
	_ = filepath.WalkDir(directory, func(path string, _ os.DirEntry, _ error) error {
		names = append(names, path)
		return nil
	})
	t.Errorf("these files are left:\n%s", strings.Join(names, "\n"))
}

// judge checks that the result reports what happened, and returns a summary.
func judge(t *testing.T, victim victim, killed bool, err error, stdout, stderr *os.File) string {
	t.Helper()
	text := read(t, stdout)
	if text == "" {
		var exit *exec.ExitError
		if victim.name == "guard" && killed && errors.As(err, &exit) && !strings.Contains(read(t, stderr), "clients per target") {
			// The guard was killed before it started anything.
			return "nothing begun"
		}
		t.Errorf("there is no result; the run ended with %v and said:\n%s", err, read(t, stderr))
		return "no result"
	}
	document, readErr := report.Read(strings.NewReader(text))
	if readErr != nil {
		t.Errorf("the result cannot be read: %v\n%s", readErr, text)
		return "bad result"
	}
	code := report.ExitCode(document)
	if victim.name != "guard" && exitCode(err) != code {
		t.Errorf("exit code %d, but the result says %d", exitCode(err), code)
	}
	conditions, _ := json.Marshal(document.Conditions)
	switch {
	case code == report.ExitFailed:
		if document.Message == "" {
			t.Errorf("the result does not say why it failed: %s", conditions)
		}
		t.Logf("failed: %s", document.Message)
		return "failed"
	case killed && victim.name == "agent" && len(document.LostClients) == 0:
		// The agent was killed when its work was complete.
		return "complete, killed at the end"
	case len(document.LostClients) > 0:
		t.Logf("complete with a replacement: %v", document.LostClients[0].Reason)
		return "complete, replaced"
	case code != report.ExitMet:
		t.Logf("not valid: %s", conditions)
		return "not valid"
	}
	return "complete"
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// TestDraw checks that with each seed, each victim has its share of the kills, spread over the length of a run.
func TestDraw(t *testing.T) {
	const length = 4500 * time.Millisecond
	for seed := range uint64(100) {
		parts := map[string]map[int]bool{}
		for _, one := range draw(rand.New(rand.NewPCG(seed, 1)), 50, length) {
			if parts[one.victim.name] == nil {
				parts[one.victim.name] = map[int]bool{}
			}
			parts[one.victim.name][int(one.delay*10/length)] = true
		}
		for _, victim := range victims {
			if len(parts[victim.name]) != 10 {
				t.Errorf("seed %d: a %s is killed in the parts %v of 10", seed, victim.name, parts[victim.name])
			}
		}
	}
}
