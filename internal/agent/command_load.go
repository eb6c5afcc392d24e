package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/engine/command"
	"github.com/storagebench/storagebench/internal/process"
)

// reasonSetup is the failure of what was to make a command's data, reasonCommand that of the command.
const (
	reasonSetup   = "SetupFailed"
	reasonCommand = "CommandFailed"
)

// commandRun is one run of a program of the user's, or of its setup: a process of our own that waits for the word to
// start it, and watches over it.
type commandRun struct {
	step      *step
	tool      *agentapi.CommandTool
	directory *dataset.Dataset
	// scratch is the program's alone, and goes with it.
	scratch string
	// words are those of the command line, replaced. setup says that they are those of the setup.
	words []string
	setup bool

	command *exec.Cmd
	handle  *process.Handle
	start   *os.File
	// news is what the process tells; it is closed when that has ended. ended is closed when the program has.
	told  tended
	news  chan struct{}
	ended chan struct{}

	output  *tail
	meter   treeMeter
	sources byteSources
	cpu     cpuMeter
}

// loadCommand makes all checks, and has a process wait that will start the program. In a step that is repeated the
// setup runs first: the command shall find what it found the first time.
func (s *step) loadCommand() error {
	tool := s.request.GetCommand()
	working, err := s.prepareDirectory()
	if err != nil {
		return err
	}
	run, err := s.readyCommand(tool, working)
	if err != nil {
		_ = working.dataset.Close()
		return err
	}
	s.tool = run
	return nil
}

func (s *step) readyCommand(tool *agentapi.CommandTool, working workingDirectory) (*commandRun, error) {
	if !working.dataset.ReadOnly() {
		if err := s.forgetLayouts(working.dataset); err != nil {
			return nil, err
		}
	}
	if len(tool.GetCommand()) > 0 && len(tool.GetSetup()) > 0 && s.key.GetAttempt() > 1 {
		setup, err := s.waitingCommand(tool, working, tool.GetSetup(), true)
		if err != nil {
			return nil, err
		}
		ended := setup.runAlone()
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			return nil, refuse(firstOf(ended.GetReason(), reasonSetup), errors.New(ended.GetMessage()))
		}
	}
	if len(tool.GetCommand()) == 0 {
		return s.waitingCommand(tool, working, tool.GetSetup(), true)
	}
	// What is in memory now would be read without touching the storage.
	s.dropCaches(working.dataset)
	return s.waitingCommand(tool, working, tool.GetCommand(), false)
}

// forgetLayouts: a program may write to any file of the directory, so that nothing is known to be laid out any more.
func (s *step) forgetLayouts(directory *dataset.Dataset) error {
	known, err := s.agent.laidOut.read(directory)
	if err == nil && len(known) > 0 {
		err = s.agent.laidOut.write(directory, dataset.LaidOut{})
	}
	if err != nil {
		return refuse(reasonOf(err), err)
	}
	return nil
}

// waitingCommand starts the process that waits. The directory is the run's from here on, where there is one.
func (s *step) waitingCommand(tool *agentapi.CommandTool, working workingDirectory, given []string, setup bool) (*commandRun, error) {
	words, err := command.Expand(given, s.agent.commandValues(working.dataset.Path()))
	if err != nil || len(words) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "the step has no command that could be run: %v %v", given, err)
	}
	run := &commandRun{step: s, tool: tool, directory: working.dataset, words: words, setup: setup, output: &tail{limit: stderrBytes},
		news: make(chan struct{}), ended: make(chan struct{})}
	folder, proven, err := workFolder(working, tool.GetWorkingDirectory())
	if err != nil {
		return nil, refuse(reasonOf(err), err)
	}
	path, err := s.agent.findProgram(words[0], folder)
	if err != nil {
		return nil, refuse(ReasonTool, err)
	}
	if run.scratch, err = os.MkdirTemp("", commandPattern); err != nil {
		return nil, refuse(ReasonTool, fmt.Errorf("make a directory for what the program keeps while it runs: %w", err))
	}
	if err := run.spawn(path, folder, working.hold); err != nil {
		_ = os.RemoveAll(run.scratch)
		return nil, refuse(ReasonTool, err)
	}
	if err := run.isIn(folder, proven); err != nil {
		run.end()
		return nil, refuse(ReasonVolume, err)
	}
	return run, nil
}

// workFolder makes the folder in which the program works, inside the client's own directory and by no link that leads
// out of it, and gives its path and what was found there.
func workFolder(working workingDirectory, folder string) (string, os.FileInfo, error) {
	path := working.dataset.Path()
	root, err := os.OpenRoot(path)
	if err != nil {
		return "", nil, fmt.Errorf("open the client's directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(".")
	if err != nil || !working.dataset.Is(info) {
		return "", nil, &dataset.Problem{Reason: dataset.ErrChanged, Path: path, Remedy: "look what was mounted there meanwhile, and start a new run"}
	}
	if folder == "" {
		return path, info, nil
	}
	err = root.MkdirAll(folder, 0o770)
	if err == nil {
		info, err = root.Stat(folder)
	}
	if err != nil {
		return "", nil, fmt.Errorf("make the working directory of the command: %w", err)
	}
	return filepath.Join(path, folder), info, nil
}

// findProgram gives the path of a program: of PATH, or relative to where it will work.
func (a *Agent) findProgram(name, folder string) (string, error) {
	if !strings.Contains(name, "/") {
		path, err := a.find(name)
		if err != nil {
			return "", fmt.Errorf("%w; set clients.image to an image that has it", err)
		}
		return path, nil
	}
	if !filepath.IsAbs(name) {
		return filepath.Join(folder, name), nil
	}
	return name, nil
}

// spawn starts `agent tend`, which has its own pipes and no input.
func (r *commandRun) spawn(path, folder string, hold *dataset.Hold) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the agent's own program: %w", err)
	}
	goRead, goWrite, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe to the command: %w", err)
	}
	newsRead, newsWrite, err := os.Pipe()
	if err != nil {
		_, _ = goRead.Close(), goWrite.Close()
		return fmt.Errorf("make a pipe to the command: %w", err)
	}
	r.command = exec.Command(program, append([]string{"tend", path}, r.words...)...)
	r.command.Dir, r.command.Env = folder, r.step.agent.commandEnvironment(r.scratch)
	r.command.Stdout, r.command.Stderr = r.output, r.output
	r.command.ExtraFiles = []*os.File{goRead, newsWrite}
	if hold != nil {
		// All that the program starts inherits it: the directory is nobody else's until the last of them is gone.
		r.command.ExtraFiles = append(r.command.ExtraFiles, hold.File())
	}
	// What it has left running may hold its output for ever.
	r.command.WaitDelay = r.step.agent.timeouts.gone / 2
	r.handle, err = process.Start(r.command)
	_, _ = goRead.Close(), newsWrite.Close()
	if err != nil {
		_, _ = goWrite.Close(), newsRead.Close()
		return err
	}
	r.start, r.meter.root = goWrite, r.handle.PID()
	go func() {
		defer close(r.news)
		r.told.follow(newsRead, r.step.agent.clock, func() { close(r.ended) })
		_ = newsRead.Close()
	}()
	return nil
}

// isIn proves that the process works in the very directory that was proven, also when another one was put there
// between the proof and its start.
func (r *commandRun) isIn(folder string, proven os.FileInfo) error {
	found, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", r.handle.PID()))
	if err != nil || os.SameFile(found, proven) {
		return nil //nolint:nilerr // It is gone already, and did nothing; its end says why.
	}
	return &dataset.Problem{Reason: dataset.ErrChanged, Path: folder, Detail: "it was another directory when the command was made ready in it",
		Remedy: "look what was mounted there meanwhile, and start a new run"}
}

const (
	// maxDropped files are looked at before a command, for so long at most.
	maxDropped = 200_000
	dropTime   = time.Minute
)

// dropCaches has this machine forget what it holds of the directory's files in memory. What it cannot forget is
// read from there, and shows as a difference between the sources.
func (s *step) dropCaches(directory *dataset.Dataset) {
	ctx, cancel := context.WithTimeout(s.stopped, dropTime)
	defer cancel()
	root, err := os.OpenRoot(directory.Path())
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	dropped := 0
	_ = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil || dropped >= maxDropped {
			return fs.SkipAll // what cannot be looked at cannot be dropped
		}
		if entry.Type().IsRegular() {
			dropped++
			_ = directory.DropCache(path)
		}
		return nil
	})
}
