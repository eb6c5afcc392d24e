// Package fio runs fio for the agent. It spawns the fio process in advance and passes it the job at the start instant.
// It takes samples from fio's status dumps, watches the CPU time of fio's workers, and stops fio with one SIGINT.
package fio

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

// Tool runs fio.
type Tool struct {
	env     *tool.Environment
	volumes *volumes.Set
	known   knownFio
	spare   spareFio
	like    knownLike
}

var _ tool.Tool = (*Tool)(nil)

// New returns the tool that runs fio on this machine.
func New(env *tool.Environment, volumes *volumes.Set) *Tool { return &Tool{env: env, volumes: volumes} }

// Describe implements tool.Tool.
func (t *Tool) Describe(ctx context.Context) []*agentapi.Tool {
	return []*agentapi.Tool{t.describe(ctx)}
}

// Close stops the fio process that is waiting for the next step, and prevents new ones from being started.
func (t *Tool) Close() error {
	t.spare.close(t.env.Timeouts.Gone)
	return nil
}

// EndSpare stops the fio process that is waiting for the next step. This also releases the lock that the process holds
// on the directory.
func (t *Tool) EndSpare() { t.spare.end() }

// SparePID returns the PID of the fio process that is waiting for the next step, or 0 if there is none.
func (t *Tool) SparePID() int {
	t.spare.mu.Lock()
	defer t.spare.mu.Unlock()
	if t.spare.waiting == nil {
		return 0
	}
	return t.spare.waiting.handle.PID()
}

// files provides the files of a step. It is implemented by volumes.Files for a step in one directory, and by
// volumes.Spread for a step on several volumes or on a raw device.
type files interface {
	Path() string
	Locks() []*os.File
	CheckProcess(pid int) error
	Layout() (reusable bool, err error)
	Inspect(ended *agentapi.Ended, wrote volumes.Witness, hung bool)
	Close()
}

// Load implements tool.Tool. It returns a fio process that waits for its job on standard input. The process works in
// the client's own directory, so that the job contains no paths. If the step's data is already written, Load returns a
// load without a process.
func (t *Tool) Load(step *tool.Step) (tool.Load, error) {
	like, err := t.findLike(step)
	if err != nil {
		return nil, err
	}
	use := volumes.Use{Direct: step.Request.GetFio().GetDirect()}
	if like != nil {
		use.ContentSuffix = fmt.Sprintf("-like-%d", like.GetPercent())
	}
	files, single, err := t.open(step, use)
	if err != nil {
		return nil, err
	}
	load, err := t.ready(step, files, single, like)
	if err != nil {
		files.Close()
		return nil, err
	}
	return load, nil
}

// open opens the files of a step. If the step works in one directory, `all` and `single` are the same files. If it
// works on several volumes or on a raw device, `single` is nil.
func (t *Tool) open(step *tool.Step, use volumes.Use) (all files, single *volumes.Files, err error) {
	if t.volumes.IsSpread(step.Request) {
		all, err = t.volumes.OpenSpread(step, use)
		return all, nil, err
	}
	single, err = t.volumes.Open(step, use)
	return single, single, err
}

// ready prepares and returns the load of a step. The load takes over the files and closes them. Only steps in a single
// directory spawn and use spare processes, because a spare process waits in one directory.
func (t *Tool) ready(step *tool.Step, files files, single *volumes.Files, like *agentapi.DataSample) (tool.Load, error) {
	reusable, err := files.Layout()
	if err != nil {
		return nil, err
	}
	next := func() {}
	how, err := t.howToSpawn(step, files)
	if err == nil && single != nil {
		next = func() { go t.spare.keep(how) }
	}
	if reusable {
		// The data already exists, so this step needs no fio process. Ignore err: the next step that needs fio reports
		// it.
		files.Close()
		return &reused{step: step, version: t.known.version(), loadEnded: next}, nil
	}
	if err != nil {
		return nil, tool.Refuse(tool.ReasonTool, err)
	}
	waiting, err := t.fioFor(how, files, single)
	if err != nil {
		return nil, err
	}
	r := follow(step, waiting)
	r.files, r.like, r.loadEnded = files, like, next
	return r, nil
}

// fioFor returns the spare fio process if it is suitable. Otherwise it spawns a new process.
func (t *Tool) fioFor(how spawning, files files, single *volumes.Files) (*waitingFio, error) {
	if single != nil {
		if spare := t.spare.take(how, single); spare != nil {
			return spare, nil
		}
	}
	waiting, err := how.spawn()
	if err != nil {
		return nil, tool.Refuse(tool.ReasonTool, err)
	}
	if err := files.CheckProcess(waiting.handle.PID()); err != nil {
		waiting.discard()
		return nil, err
	}
	return waiting, nil
}

// reused is the load of a prepare phase whose data already exists. It starts no process, and completes at its start
// instant.
type reused struct {
	step    *tool.Step
	version string
	// loadEnded spawns the fio process of the next step in the background.
	loadEnded func()
}

// Discard implements tool.Load.
func (r *reused) Discard() { r.loadEnded() }

// Run implements tool.Load.
func (r *reused) Run(int64) *agentapi.Ended {
	defer r.loadEnded()
	now := r.step.Clock.Monotonic()
	var meter tool.CPUMeter
	meter.Begin(r.step.Clock)
	r.step.Write(&agentapi.Record{Entry: &agentapi.Record_Started{Started: &agentapi.Started{ReleasedNanoseconds: now}}})
	ended := &agentapi.Ended{
		Outcome:            agentapi.Outcome_OUTCOME_COMPLETE,
		IoStartNanoseconds: now,
		IoEndNanoseconds:   now,
		ToolVersion:        r.version,
		Cpu:                meter.End(r.step.Clock, nil),
	}
	files := r.step.Request.GetDataset().GetWrites()
	tool.Warn(ended, volumes.NoticeReused, "%d bytes in %d files already exist, are complete and have the requested "+
		"content; they were not written again",
		bytesOf(files), len(files))
	return ended
}

func bytesOf(files []*agentapi.DataFile) uint64 {
	var bytes uint64
	for _, file := range files {
		bytes += file.GetBytes()
	}
	return bytes
}

// wrote reports whether fio has written at least as many bytes as the layout requires, according to fio's own result.
func wrote(step *tool.Step, ended *agentapi.Ended) volumes.Witness {
	expected := cmp.Or(step.Request.GetFio().GetWrittenBytes(), bytesOf(step.Request.GetDataset().GetWrites()))
	var written uint64
	for _, operation := range ended.GetOperations() {
		if operation.GetOperation() == uint32(measure.Write) {
			written += operation.GetBytes()
		}
	}
	if written < expected {
		return volumes.WroteLess
	}
	return volumes.WroteAll
}
