package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
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
)

// reasonSetup is the failure reason of a setup command, and reasonCommand that of the measured command.
const (
	reasonSetup   = "SetupFailed"
	reasonCommand = "CommandFailed"
)

// commandRun is one run of a user's program or of its setup. The agent starts a process of its own, `agent tend`,
// which waits for the signal to start the program and then supervises it.
type commandRun struct {
	step      *step
	tool      *agentapi.CommandTool
	directory *dataset.Dataset
	// scratch is the program's own temporary directory; it is removed with the run.
	scratch string
	// words is the command line with its placeholders replaced. setup is true for a setup command.
	words []string
	setup bool

	handle Program
	start  io.WriteCloser
	// told collects the reports of `agent tend`. news is closed after the last report.
	told tended
	news chan struct{}

	output  *tail
	meter   treeMeter
	sources byteSources
	cpu     cpuMeter
}

// loadCommand makes all checks and starts the waiting `agent tend` process. If the step is repeated, it runs the
// setup command first, so that the command finds the same data as the first time.
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
	// Reads of cached data would not touch the storage.
	s.dropCaches(working.dataset)
	return s.waitingCommand(tool, working, tool.GetCommand(), false)
}

// forgetLayouts clears the record of laid-out files, because a program may write to any file of the directory.
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

// waitingCommand starts the waiting process. If it returns a run, that run owns the directory.
func (s *step) waitingCommand(tool *agentapi.CommandTool, working workingDirectory, given []string, setup bool) (*commandRun, error) {
	words, err := command.Expand(given, s.agent.commandValues(working.dataset.Path()))
	if err != nil || len(words) == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "the step has no command that could be run: %v %v", given, err)
	}
	run := &commandRun{step: s, tool: tool, directory: working.dataset, words: words, setup: setup, output: &tail{limit: stderrBytes},
		news: make(chan struct{})}
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

// workFolder creates the folder in which the program works, and returns its path and file info. The folder is
// inside the client's own directory; symbolic links that lead out of the directory are refused.
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

// findProgram returns the path of a program. It searches PATH for a name without slashes, and resolves any other
// relative name in the working folder.
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

// spawn starts `agent tend` with pipes of its own and without standard input.
func (r *commandRun) spawn(path, folder string, hold *dataset.Hold) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the agent's own program: %w", err)
	}
	command := exec.Command(program, append([]string{"tend", path}, r.words...)...)
	command.Dir, command.Env = folder, r.step.agent.commandEnvironment(r.scratch)
	command.Stdout, command.Stderr = r.output, r.output
	// Processes that the program leaves running may keep its output open forever.
	command.WaitDelay = r.step.agent.timeouts.gone / 2
	var held *os.File
	if hold != nil {
		// All descendants of the program inherit the lock, so the directory stays locked until the last of them
		// exits.
		held = hold.File()
	}
	system := r.step.agent.system
	handle, start, news, err := system.Tend(command, held)
	if err != nil {
		return err
	}
	r.handle, r.start, r.meter = handle, start, treeMeter{system: system, root: handle.PID()}
	go func() {
		defer close(r.news)
		r.told.follow(news, r.step.agent.clock)
		_ = news.Close()
	}()
	return nil
}

// Tend implements System.
func (m thisMachine) Tend(command *exec.Cmd, hold *os.File) (Program, io.WriteCloser, io.ReadCloser, error) {
	goRead, goWrite, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("make a pipe to the command: %w", err)
	}
	newsRead, newsWrite, err := os.Pipe()
	if err != nil {
		_, _ = goRead.Close(), goWrite.Close()
		return nil, nil, nil, fmt.Errorf("make a pipe to the command: %w", err)
	}
	command.ExtraFiles = []*os.File{goRead, newsWrite}
	if hold != nil {
		command.ExtraFiles = append(command.ExtraFiles, hold)
	}
	tended, err := m.Start(command)
	_, _ = goRead.Close(), newsWrite.Close()
	if err != nil {
		_, _ = goWrite.Close(), newsRead.Close()
		return nil, nil, nil, err
	}
	return tended, goWrite, newsRead, nil
}

// isIn checks that the process works in the directory that was verified, and not in one that replaced it between
// the check and the start.
func (r *commandRun) isIn(folder string, proven os.FileInfo) error {
	found, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", r.handle.PID()))
	if err != nil || os.SameFile(found, proven) {
		return nil //nolint:nilerr // It is gone already, and did nothing; its end says why.
	}
	return &dataset.Problem{Reason: dataset.ErrChanged, Path: folder, Detail: "it was another directory when the command was made ready in it",
		Remedy: "look what was mounted there meanwhile, and start a new run"}
}

const (
	// maxDropped limits how many files have their cached pages dropped before a command starts; dropTime limits the
	// time for it.
	maxDropped = 200_000
	dropTime   = time.Minute
)

// dropCaches drops the pages of the directory's files from this machine's page cache. Reads of pages that cannot be
// dropped are served from memory; the byte sources then disagree, which shows it.
func (s *step) dropCaches(directory *dataset.Dataset) {
	ctx, cancel := context.WithTimeout(s.stopped, dropTime)
	defer cancel()
	root, err := os.OpenRoot(directory.Path())
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	dropped := 0
	eachFile(root.FS(), func(path string) bool {
		_ = directory.DropCache(path)
		dropped++
		return ctx.Err() == nil && dropped < maxDropped
	})
}

// eachFile calls do for every regular file until do returns false. It skips unreadable entries.
func eachFile(root fs.FS, do func(path string) bool) {
	_ = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !do(path) {
			return fs.SkipAll
		}
		return nil
	})
}
