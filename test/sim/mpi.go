package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/agent/mpi"
)

// launchFile is the environment variable with the path of the launch order, from which launchers read their step.
const launchFile = "STORAGEBENCH_LAUNCH"

// Durations of the parts of a job without I/O on the store.
const (
	mpiStart    = 150 * time.Millisecond
	daemonStart = 50 * time.Millisecond
	// rankStart is the time from a rank's start until it opens its first file.
	rankStart = 120 * time.Millisecond
	// fileOpen is the time that all ranks take to open or close their files.
	fileOpen = 20 * time.Microsecond
)

// errTerminated ends a job whose mpirun received SIGTERM. errRankLost ends a job that has lost a client.
var (
	errTerminated = errors.New("mpirun was told to end")
	errRankLost   = errors.New("ORTE has lost communication with a remote daemon")
)

// job is a model of mpirun with all of its daemons and ranks. mpirun's goroutine does the work of all ranks: it starts
// a flow on the store for each.
type job struct {
	// order is the part of the agent's order to launchers that identifies the step.
	order struct {
		Step    string `json:"step"`
		Attempt uint32 `json:"attempt"`
	}
	program   string
	arguments []string
	hosts     []jobHost
	output    *lockedWriter
	errors    *lockedWriter
	// joined receives each host whose ranks have started. over is closed when the job has ended.
	joined chan *jobHost
	over   chan struct{}
	ranks  []*Process
	// directory is the working directory of the ranks on the head. In this model, all clients share it.
	directory string
}

// jobHost is a client of a job.
type jobHost struct {
	name  string
	slots int
	ranks []*Process
}

// lockedWriter is a writer that several processes may use concurrently.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

func (w *lockedWriter) say(format string, arguments ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", arguments...)
}

// variable returns the value of a variable in a command's environment, or "" if it is not set.
func variable(command *exec.Cmd, name string) string {
	for _, entry := range slices.Backward(command.Env) {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value
		}
	}
	return ""
}

// after returns the word that follows name, or "" if there is none.
func after(words []string, name string) string {
	if at := slices.Index(words, name); at >= 0 && at+1 < len(words) {
		return words[at+1]
	}
	return ""
}

// newJob returns the job that mpirun's command line and its hostfile describe.
func newJob(command *exec.Cmd) (*job, error) {
	at := slices.Index(command.Args, "rank")
	if at < 0 || len(command.Args) < at+3 {
		return nil, fmt.Errorf("%q starts no rank", command.Args)
	}
	text, err := os.ReadFile(after(command.Args, "--hostfile"))
	if err != nil {
		return nil, err
	}
	j := &job{program: command.Args[at+2], arguments: command.Args[at+3:], output: &lockedWriter{to: command.Stdout}, errors: &lockedWriter{to: command.Stderr},
		over: make(chan struct{}), directory: variable(command, "STORAGEBENCH_DIRECTORY")}
	order, err := os.ReadFile(variable(command, launchFile))
	if err == nil {
		err = json.Unmarshal(order, &j.order)
	}
	if err != nil {
		return nil, fmt.Errorf("read the order of launchers: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		var host jobHost
		if _, err := fmt.Sscanf(line, "%s slots=%d", &host.name, &host.slots); err != nil {
			return nil, fmt.Errorf("the hostfile has %q: %w", line, err)
		}
		j.hosts = append(j.hosts, host)
	}
	j.joined = make(chan *jobHost, len(j.hosts))
	return j, nil
}

// start starts the ranks of a host as children of a process of its machine.
func (j *job) start(parent *Process, host *jobHost, directory string) error {
	for range host.slots {
		rank, err := parent.machine.add(j.program, parent)
		if err != nil {
			return err
		}
		host.ranks = append(host.ranks, rank)
	}
	j.joined <- host
	time.AfterFunc(rankStart, func() {
		for _, rank := range host.ranks {
			rank.machine.mu.Lock()
			rank.directory = directory
			rank.machine.mu.Unlock()
		}
	})
	return nil
}

// mpirun simulates mpirun: it executes a job and returns the exit code.
func (m *Machine) mpirun(p *Process, command *exec.Cmd) int {
	j, err := newJob(command)
	if err != nil {
		_, _ = fmt.Fprintln(command.Stderr, "ERROR:", err)
		return 213
	}
	id := m.house.open(j)
	m.house.begin(j.order.Step, j.order.Attempt, m.key)
	ctx, interrupt := context.WithCancelCause(context.Background())
	launchers, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	time.Sleep(mpiStart)
	var all sync.WaitGroup
	for _, host := range j.hosts[1:] {
		all.Go(func() {
			if mpi.Launch(launchers, m.dial, variable(command, launchFile), m.daemonCommand(host.name, id), j.output, j.errors) != 0 {
				interrupt(errRankLost)
			}
		})
	}
	all.Go(func() {
		select {
		case <-p.term:
			interrupt(errTerminated)
		case <-p.exited: // mpirun was killed together with its launchers
			interrupt(context.Canceled)
			hangUp()
		case <-j.over:
		}
	})
	err = j.start(p, &j.hosts[0], j.directory)
	if err == nil {
		err = j.carry(ctx)
	}
	for _, rank := range j.hosts[0].ranks {
		rank.end(exited(0))
	}
	close(j.over)
	all.Wait()
	if err != nil {
		j.errors.say("%s", err)
		return 1
	}
	return 0
}

// daemonCommand returns the arguments with which mpirun launches a daemon on another host.
func (m *Machine) daemonCommand(host string, id int) []string {
	head, _, _ := strings.Cut(m.address, ":")
	return []string{host, "orted", "-mca", "ess", "env", "-mca", "ess_base_jobid", strconv.Itoa(id),
		"-mca", "orte_hnp_uri", fmt.Sprintf("%d.0;tcp://%s:1024", id, head), "--leave-session-attached"}
}

// daemon simulates orted, which runs the ranks of a job on another client.
func (m *Machine) daemon(p *Process, command *exec.Cmd) int {
	id, _ := strconv.Atoi(after(command.Args, "ess_base_jobid"))
	j := m.house.job(id)
	host, _, _ := strings.Cut(m.address, ":")
	at := slices.IndexFunc(j.hosts, func(one jobHost) bool { return one.name == host })
	if at < 0 {
		return 1
	}
	m.house.begin(j.order.Step, j.order.Attempt, m.key)
	time.Sleep(daemonStart)
	if j.start(p, &j.hosts[at], variable(command, "STORAGEBENCH_DIRECTORY")) != nil {
		return 1
	}
	select {
	case <-j.over:
	case <-p.term:
	case <-p.exited:
	}
	for _, rank := range j.hosts[at].ranks {
		rank.end(exited(0))
	}
	return 0
}

// carry waits until the ranks of all hosts have started, and runs their program.
func (j *job) carry(ctx context.Context) error {
	for range j.hosts {
		select {
		case <-j.joined:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for i := range j.hosts {
		j.ranks = append(j.ranks, j.hosts[i].ranks...)
	}
	if err := pause(ctx, rankStart+fileOpen); err != nil {
		return err
	}
	if j.program == "mdtest" {
		return j.mdtest(ctx)
	}
	return j.ior(ctx)
}

// pause sleeps, unless the job is interrupted.
func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await waits until all flows have ended. It returns false if it was interrupted earlier.
func await(flows []*flow, interrupted <-chan struct{}) bool {
	for {
		next, ended := time.Now().Add(time.Hour), true
		for _, f := range flows {
			if seen := f.look(); !seen.ended {
				ended, next = false, earlier(next, seen.next)
			}
		}
		if ended {
			return true
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-interrupted:
			timer.Stop()
			return false
		}
	}
}

// together starts the same load for each rank, and returns the bytes of all ranks when all have reached the barrier. If
// atMost is not 0, it limits the duration of the load.
func (j *job) together(ctx context.Context, d demand, atMost time.Duration) (bytes uint64, err error) {
	var flows []*flow
	for _, rank := range j.ranks {
		flows = append(flows, rank.begin(d))
	}
	limited, cancel := context.WithCancel(ctx)
	if atMost > 0 {
		limited, cancel = context.WithTimeout(ctx, atMost)
	}
	defer cancel()
	if !await(flows, limited.Done()) {
		for _, f := range flows {
			f.stop()
		}
		await(flows, nil)
	}
	for i, rank := range j.ranks {
		rank.machine.mu.Lock()
		rank.settle()
		rank.machine.mu.Unlock()
		for _, moved := range flows[i].moved {
			bytes += moved.Bytes
		}
	}
	if slices.ContainsFunc(j.ranks, (*Process).hasEnded) {
		<-ctx.Done() // The barrier never completes without all ranks.
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return bytes, nil
}

// size parses a number of bytes with IOR's units.
func size(text string) int64 {
	unit := int64(1)
	switch {
	case strings.HasSuffix(text, "k"):
		unit = 1 << 10
	case strings.HasSuffix(text, "m"):
		unit = 1 << 20
	case strings.HasSuffix(text, "g"):
		unit = 1 << 30
	}
	number, _ := strconv.ParseInt(strings.TrimRight(text, "kmg"), 10, 64)
	return number * unit
}

func count(words []string, name string) int64 {
	number, _ := strconv.ParseInt(after(words, name), 10, 64)
	return number
}

// ior simulates the repetitions of IOR 4.0.0 and prints its CSV.
func (j *job) ior(ctx context.Context) error {
	given := j.arguments
	transfer, each := size(after(given, "-t")), size(after(given, "-b"))*count(given, "-s")
	stonewall, limit := time.Duration(count(given, "-D"))*time.Second, time.Duration(count(given, "-T"))*time.Minute
	work := each
	if slices.ContainsFunc(given, func(word string) bool { return strings.HasPrefix(word, "minTimeDuration=") }) {
		work = 0 // Each rank repeats its file until the stonewall.
	}
	j.output.say("access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter")
	began := time.Now()
	for index := range count(given, "-i") {
		if limit > 0 && time.Since(began) >= limit {
			break
		}
		for _, access := range []string{"write", "read"} {
			if !slices.Contains(given, "-"+access[:1]) {
				continue
			}
			if err := j.files(access, each); err != nil {
				return err
			}
			percent := map[string]int{"read": 100}[access]
			start := time.Now()
			time.Sleep(fileOpen)
			moved, err := j.together(ctx, demand{readPercent: percent, blockBytes: transfer, depth: 1, work: work}, stonewall)
			if err != nil {
				return err
			}
			moving := time.Since(start) - fileOpen
			time.Sleep(fileOpen)
			if expected := each * int64(len(j.ranks)); int64(moved) != expected {
				j.output.say("WARNING: Expected aggregate file size       = %d", expected)
				j.output.say("WARNING: Stat() of aggregate file size      = %d", expected)
				j.output.say("WARNING: Using actual aggregate bytes moved = %d", moved)
				j.output.say("WARNING: Maybe caused by deadlineForStonewalling")
			}
			total, transfers := time.Since(start).Seconds(), float64(moved)/float64(transfer)
			j.output.say("%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%d,%d", access, float64(moved)/total/(1<<20), transfers/moving.Seconds(),
				moving.Seconds()*float64(len(j.ranks))/transfers, float64(size(after(given, "-b")))/1024, float64(transfer)/1024,
				fileOpen.Seconds(), moving.Seconds(), fileOpen.Seconds(), total, len(j.ranks), index)
		}
	}
	return nil
}

// files creates the files of a write. They are real files, because agents inspect them. A read fails if they are
// missing.
func (j *job) files(access string, bytesEach int64) error {
	for rank := range j.ranks {
		path := filepath.Join(j.directory, fmt.Sprintf("%s.%08d", after(j.arguments, "-o"), rank))
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Size() == bytesEach:
			continue
		case access == "read":
			return fmt.Errorf("ior ERROR: open64(%q) failed, errno 2, No such file or directory", path)
		}
		if err := os.WriteFile(path, bytes.Repeat([]byte{1}, int(bytesEach)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// metadata is the duration of each mdtest operation without data.
const metadata = 400 * time.Microsecond

// mdtest simulates the iterations of mdtest 4.0.0, without -F and -D, and prints its summary.
func (j *job) mdtest(ctx context.Context) error {
	items, iterations := count(j.arguments, "-n"), count(j.arguments, "-i")
	j.output.say("mdtest-4.0.0 was launched with %d total task(s) on %d node(s)", len(j.ranks), len(j.hosts))
	phases := []string{"Directory creation", "Directory stat", "Directory rename", "Directory removal",
		"File creation", "File stat", "File read", "File removal", "Tree creation", "Tree removal"}
	rates := map[string][]float64{}
	for range iterations {
		for _, phase := range phases {
			begin, operations := time.Now(), items*int64(len(j.ranks))
			d := demand{depth: 1}
			switch phase {
			case "File creation":
				d.blockBytes = count(j.arguments, "-w")
			case "File read":
				d.blockBytes, d.readPercent = count(j.arguments, "-e"), 100
			case "Tree creation", "Tree removal":
				operations = 1
			}
			d.work = d.blockBytes * items
			var err error
			if d.work > 0 {
				_, err = j.together(ctx, d, 0)
			} else {
				err = pause(ctx, metadata*time.Duration(operations)/time.Duration(len(j.ranks)))
			}
			if err != nil {
				return err
			}
			rates[phase] = append(rates[phase], float64(operations)/time.Since(begin).Seconds())
		}
	}
	j.output.say("\nSUMMARY rate: (of %d iterations)\n   Operation                     Max            Min           Mean        Std Dev\n"+
		"   ---------                     ---            ---           ----        -------", iterations)
	for _, phase := range phases {
		sum := 0.0
		for _, rate := range rates[phase] {
			sum += rate
		}
		j.output.say("   %-20s %14.3f %14.3f %14.3f %14.3f", phase, slices.Max(rates[phase]), slices.Min(rates[phase]), sum/float64(iterations), 0.0)
	}
	j.output.say("-- finished at 11/21/2026 07:31:19 --")
	return nil
}
