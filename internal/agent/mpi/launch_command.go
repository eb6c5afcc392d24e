package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// launchFailed is the launcher's exit code if it could not launch the daemon.
const launchFailed = 255

// launchPrefix is the prefix of a launcher's own messages on mpirun's standard error.
const launchPrefix = "storagebench: launch:"

// LaunchCommand implements `agent launch HOST DAEMON ARGUMENTS`, which MPI runs in place of ssh. It asks the agent on a
// host to start the daemon, passes on the daemon's output, and exits with the daemon's exit code. When the launcher
// exits, the agent ends the daemon and all its descendants.
func LaunchCommand(arguments []string, stdout, stderr io.Writer) int {
	// Exit when mpirun is killed; nothing else would end this process.
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	defer stop()
	return Launch(ctx, nil, os.Getenv(launchFile), arguments, stdout, stderr)
}

// Launch does the work of LaunchCommand, but without its process-wide setup: the parent-death signal and the signal
// handling. dial connects to the agent on the host, and order is the path of the file with the launchOrder.
func Launch(ctx context.Context, dial Dial, order string, arguments []string, stdout, stderr io.Writer) int {
	launcher, err := newLaunch(order, arguments)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, launchPrefix, tool.OneLine(err))
		return launchFailed
	}
	code := launchFailed
	if err = checkDaemon(launcher.command); err == nil {
		code, err = launcher.run(ctx, dial, stdout, stderr)
	}
	if err == nil || ctx.Err() != nil {
		return code
	}
	report := launchReport{Kind: reportRefused, Client: launcher.host.Client, Problem: status.Convert(err).Message()}
	if status.Code(err) == codes.Unavailable || errors.Is(err, io.EOF) {
		report.Kind = reportLost
	}
	_, _ = fmt.Fprintln(stderr, launchPrefix, report)
	if err := launcher.order.report(report); err != nil {
		_, _ = fmt.Fprintln(stderr, launchPrefix, tool.OneLine(err))
	}
	return code
}

// launch starts one daemon on one host.
type launch struct {
	order   launchOrder
	host    host
	command []string
}

func newLaunch(path string, arguments []string) (*launch, error) {
	if path == "" {
		return nil, errors.New("agent launch is only for use by the agent's mpirun: " + launchFile + " is not set")
	}
	if len(arguments) < 2 {
		return nil, errors.New("missing arguments: specify a host and the command line of its daemon")
	}
	text, err := os.ReadFile(path) //nolint:gosec // The path comes from the agent that started mpirun.
	if err != nil {
		return nil, fmt.Errorf("read the agent's launch request: %w", err)
	}
	l := &launch{command: plainCommand(arguments[1:])}
	if err := json.Unmarshal(text, &l.order); err != nil {
		return nil, fmt.Errorf("read the agent's launch request: %w", err)
	}
	at := slices.IndexFunc(l.order.Hosts, func(one host) bool { return one.Name == arguments[0] })
	if at < 0 {
		return nil, fmt.Errorf("host %q is not a client of this job", clip(arguments[0]))
	}
	l.host = l.order.Hosts[at]
	if first(l.command) != l.order.Daemon {
		return nil, fmt.Errorf("%s is missing from the command for %s: %q", l.order.Daemon, l.host.Name, arguments[1:])
	}
	return l, nil
}

// run returns the daemon's exit code after the daemon has exited. An error means that the daemon was not started, or
// that its exit code is unknown.
func (l *launch) run(ctx context.Context, dial Dial, stdout, stderr io.Writer) (int, error) {
	connection, err := l.order.dialMember(dial, l.host.Client, l.host.Address)
	if err != nil {
		return launchFailed, err
	}
	defer func() { _ = connection.Close() }()
	stream, err := agentapi.NewAgentClient(connection).Launch(ctx, &agentapi.LaunchRequest{
		Step: &agentapi.StepKey{Id: l.order.Step, Attempt: l.order.Attempt}, Command: l.command})
	if err != nil {
		return launchFailed, err
	}
	for {
		output, err := stream.Recv()
		if err != nil {
			return launchFailed, err
		}
		// Ignore write errors: even if the reader is gone, the daemon keeps running until it is asked to stop.
		_, _ = stdout.Write(output.GetStdout())
		_, _ = stderr.Write(output.GetStderr())
		if exit := output.GetExit(); exit != nil {
			return int(exit.GetCode()), nil
		}
	}
}

// report appends one line to the report file. O_APPEND keeps the lines of concurrent launchers separate.
func (o launchOrder) report(report launchReport) error {
	line, err := json.Marshal(report)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(o.Report, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("report to the agent: %w", err)
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}
