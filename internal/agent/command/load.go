package command

import (
	"cmp"
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

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine/command"
)

// reasonSetup means that a setup command failed; reasonCommand means that the measured command failed.
const (
	reasonSetup   = "SetupFailed"
	reasonCommand = "CommandFailed"
)

// run is one execution of a user's program or of its setup command. The agent starts `agent supervise`, which waits for
// the start signal, and then starts and supervises the program.
type run struct {
	step   *tool.Step
	load   *agentapi.CommandTool
	system System
	files  *volumes.Files
	// scratch is the program's own temporary directory. It is removed when the program ends. File systems that the program
	// left mounted there are not touched.
	scratch string
	// words is the command line with its placeholders replaced. setup is true for a setup command.
	words []string
	setup bool

	handle tool.Program
	start  io.WriteCloser
	// reports collects what `agent supervise` reports. reported is closed after the last report.
	reports  superviseReports
	reported chan struct{}

	output  *tool.Tail
	meter   treeMeter
	sources byteSources
	cpu     tool.CPUMeter
}

var _ tool.Waiting = (*run)(nil)

// Load implements tool.Tool. It starts `agent supervise`, which waits for the start signal. If the step is repeated,
// Load runs the setup command first, so that the measured command finds the same data as the first time.
func (t *Tool) Load(step *tool.Step) (tool.Load, error) {
	files, err := t.volumes.Open(step, volumes.Use{AnyReadOnly: true})
	if err != nil {
		return nil, err
	}
	ready, err := t.ready(step, files)
	if err != nil {
		files.Close()
		return nil, err
	}
	return ready, nil
}

func (t *Tool) ready(step *tool.Step, files *volumes.Files) (*run, error) {
	load := step.Request.GetCommand()
	if !files.ReadOnly() {
		if err := files.Forget(); err != nil {
			return nil, err
		}
	}
	if len(load.GetCommand()) > 0 && len(load.GetSetup()) > 0 && step.Request.GetStep().GetAttempt() > 1 {
		setup, err := t.waiting(step, files, load.GetSetup(), true)
		if err != nil {
			return nil, err
		}
		ended := setup.runAlone()
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
			return nil, tool.Refuse(cmp.Or(ended.GetReason(), reasonSetup), errors.New(ended.GetMessage()))
		}
	}
	if len(load.GetCommand()) == 0 {
		return t.waiting(step, files, load.GetSetup(), true)
	}
	// Drop cached data, because reads of it would not touch the storage.
	dropCaches(step, files)
	return t.waiting(step, files, load.GetCommand(), false)
}

// waiting starts the `agent supervise` process that waits for the start signal.
func (t *Tool) waiting(step *tool.Step, files *volumes.Files, given []string, setup bool) (*run, error) {
	words, err := command.Expand(given, values(files.Path(), step.Config.Client))
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "the step's command %q: %v", given, err)
	}
	if len(words) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the step has no command")
	}
	r := &run{step: step, load: step.Request.GetCommand(), system: t.system, files: files, words: words, setup: setup,
		output: &tool.Tail{Limit: tool.MessageBytes}, reported: make(chan struct{})}
	r.reports.ended = make(chan struct{})
	folder, verified, err := workFolder(files, r.load.GetWorkingDirectory())
	if err != nil {
		return nil, tool.Refuse(tool.ReasonOf(err), err)
	}
	path, err := t.findProgram(words[0], folder)
	if err != nil {
		return nil, tool.Refuse(tool.ReasonTool, err)
	}
	if r.scratch, err = os.MkdirTemp("", scratchPattern); err != nil {
		return nil, tool.Refuse(tool.ReasonTool, fmt.Errorf("make a scratch directory for the program: %w", err))
	}
	if err := r.spawn(path, folder); err != nil {
		_ = os.RemoveAll(r.scratch)
		return nil, tool.Refuse(tool.ReasonTool, err)
	}
	if err := r.isIn(verified); err != nil {
		r.end()
		return nil, err
	}
	return r, nil
}

// workFolder creates the program's working directory, and returns its path and file info. The working directory is
// inside the client's own directory. Symbolic links that lead out of the client's directory are refused.
func workFolder(files *volumes.Files, folder string) (string, os.FileInfo, error) {
	path := files.Path()
	root, err := os.OpenRoot(path)
	if err != nil {
		return "", nil, fmt.Errorf("open the client's directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(".")
	if err != nil || !files.Is(info) {
		return "", nil, files.Changed("")
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
// relative name in the working directory.
func (t *Tool) findProgram(name, folder string) (string, error) {
	if !strings.Contains(name, "/") {
		path, err := t.system.Find(name, t.env.Path)
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

// spawn starts `agent supervise` with its own pipes and without standard input.
func (r *run) spawn(path, folder string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the agent's own program: %w", err)
	}
	command := exec.Command(program, append([]string{"supervise", path}, r.words...)...)
	command.Dir, command.Env = folder, environment(r.step.Path, r.scratch)
	command.Stdout, command.Stderr = r.output, r.output
	// Processes that the program leaves running may keep its output open forever, so limit how long Wait waits for the
	// output to be closed.
	command.WaitDelay = r.step.Timeouts.Gone / 2
	// All descendants of the program inherit the locks, so the directory stays locked until the last of them exits.
	handle, start, reports, err := r.system.Supervise(command, r.files.Locks())
	if err != nil {
		return err
	}
	r.handle, r.start, r.meter = handle, start, treeMeter{system: r.system, root: handle.PID()}
	go func() {
		defer close(r.reported)
		r.reports.follow(reports, r.step.Clock)
		_ = reports.Close()
	}()
	return nil
}

// isIn checks that the working directory of the started process is the verified directory. Another directory may have
// replaced it between the verification and the start of the process.
func (r *run) isIn(verified os.FileInfo) error {
	found, err := os.Stat(fmt.Sprintf("/proc/%d/cwd", r.handle.PID()))
	if err != nil || os.SameFile(found, verified) {
		return nil //nolint:nilerr // The process has exited without doing anything; its exit explains why.
	}
	return r.files.Changed("the command was started in another directory")
}

const (
	// maxDropped limits the number of files whose cached pages are dropped before a command starts, and dropTime limits
	// the time for dropping them.
	maxDropped = 200_000
	dropTime   = time.Minute
)

// dropCaches drops the pages of the directory's files from this machine's page cache. A read of a page that could not
// be dropped comes from memory instead of storage. Such reads later show up as a difference between the byte counts of
// the program's system calls and those of the mount or the control group.
func dropCaches(step *tool.Step, directory *volumes.Files) {
	ctx, cancel := context.WithTimeout(step.Stopped, dropTime)
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

// eachFile calls `do` for every regular file until `do` returns false. It skips unreadable entries.
func eachFile(root fs.FS, do func(path string) bool) {
	_ = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !do(path) {
			return fs.SkipAll
		}
		return nil
	})
}
