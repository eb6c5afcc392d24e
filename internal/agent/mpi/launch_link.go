package mpi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
)

const (
	// linkInterval is the interval at which the launchers' reports are read.
	linkInterval = 100 * time.Millisecond
	// memberTimeout limits the time of one Release call. membersTimeout limits the time for calling Release on all
	// members at the end of a step.
	memberTimeout  = 10 * time.Second
	membersTimeout = 1500 * time.Millisecond
	// launchAlive is the time without messages after which a launcher checks that its member is alive;
	// launchTimeout limits how long it waits for the answer.
	launchAlive, launchTimeout = 10 * time.Second, 3 * time.Second
)

// launchOrder is the input of a launcher: the addresses of the members, and the key for connecting to them.
type launchOrder struct {
	RunUID   string          `json:"runUID"`
	Target   string          `json:"target"`
	Step     string          `json:"step"`
	Attempt  uint32          `json:"attempt"`
	Identity identity.Bundle `json:"identity"`
	// Daemon is the name of MPI's daemon program, such as orted. A launcher refuses a command for any other program.
	Daemon string `json:"daemon"`
	Hosts  []host `json:"hosts"`
	// Report is the path of the file to which launchers append launchReports.
	Report string `json:"report"`
}

// launchReport is one line of the report file: a problem that a launcher has had with its member. It identifies the
// client, whereas mpirun's own messages contain only the member's address.
type launchReport struct {
	Kind    reportKind `json:"kind"`
	Client  int        `json:"client"`
	Problem string     `json:"problem"`
}

type reportKind string

const (
	// reportLost means that the connection to the member was lost.
	reportLost reportKind = "lost"
	// reportRefused means that the member refused to launch the daemon.
	reportRefused reportKind = "refused"
)

// String returns the report as a message that names the client.
func (r launchReport) String() string {
	if r.Kind == reportLost {
		return fmt.Sprintf("client %d was lost: %s", r.Client, r.Problem)
	}
	return fmt.Sprintf("client %d: %s", r.Client, r.Problem)
}

// launchLink connects client 0's agent with the launchers that mpirun starts (`agent launch`). Launchers run as the
// same user and open the agent's in-memory files by their descriptors in /proc, so that the run's key is never on disk.
type launchLink struct {
	order           launchOrder
	orders, reports *os.File
}

func newLaunchLink(step *tool.Step, hosts []host, daemon string) (*launchLink, error) {
	config, key := &step.Config, step.Request.GetStep()
	link := &launchLink{order: launchOrder{
		RunUID: config.RunUID, Target: config.Target, Step: key.GetId(), Attempt: key.GetAttempt(),
		Identity: config.Identity, Daemon: daemon, Hosts: hosts,
	}}
	var err error
	if link.reports, err = memoryFile("storagebench-reports"); err != nil {
		return nil, err
	}
	if link.orders, err = memoryFile("storagebench-launch"); err != nil {
		_ = link.reports.Close()
		return nil, err
	}
	link.order.Report = descriptorPath(link.reports)
	text, err := json.Marshal(link.order)
	if err == nil {
		_, err = link.orders.Write(text)
	}
	if err != nil {
		link.close()
		return nil, fmt.Errorf("write the launchers' data: %w", err)
	}
	return link, nil
}

func memoryFile(name string) (*os.File, error) {
	descriptor, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create an in-memory file: %w", err)
	}
	return os.NewFile(uintptr(descriptor), name), nil
}

func descriptorPath(file *os.File) string {
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd())
}

// path returns the path of the file with the launchOrder.
func (l *launchLink) path() string { return descriptorPath(l.orders) }

func (l *launchLink) close() {
	_ = l.orders.Close()
	_ = l.reports.Close()
}

// firstReport returns the first report of the given kind, or "" if there is none.
func (l *launchLink) firstReport(kind reportKind) string {
	text, err := io.ReadAll(io.NewSectionReader(l.reports, 0, 1<<20))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		var report launchReport
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &report) == nil && report.Kind == kind {
			return report.String()
		}
	}
	return ""
}

// dialMember connects to a member as client 0.
func (o launchOrder) dialMember(dial Dial, client int, address string) (*grpc.ClientConn, error) {
	config, err := o.Identity.ClientTLS(identity.ClientOf(o.RunUID, o.Target, client))
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: launchAlive, Timeout: launchTimeout}),
	}
	if dial != nil {
		options = append(options, grpc.WithContextDialer(dial))
	}
	return grpc.NewClient("passthrough:///"+address, options...)
}

// tellEnd notifies all other clients that the job has ended. It returns when all of them have answered, or after
// membersTimeout, so that an unreachable client does not delay the end. It returns a message about the first client
// that it could not reach, or "".
func (l *launcher) tellEnd() (unreachable string) {
	var others []*agentapi.MpiClient
	for _, client := range l.load.GetClients() {
		if int(client.GetClient()) != l.env.Config.Client {
			others = append(others, client)
		}
	}
	failed := make(chan launchReport, len(others))
	for _, client := range others {
		go func() {
			report := launchReport{Kind: reportLost, Client: int(client.GetClient())}
			if err := l.link.order.release(l.Dial, report.Client, client.GetAddress()); status.Code(err) == codes.Unavailable {
				report.Problem = status.Convert(err).Message()
			}
			failed <- report
		}()
	}
	timeout := time.After(membersTimeout)
	for range others {
		select {
		case report := <-failed:
			if report.Problem != "" && unreachable == "" {
				unreachable = report.String()
			}
		case <-timeout:
			return unreachable
		}
	}
	return unreachable
}

// release notifies one member that the job has ended.
func (o launchOrder) release(dial Dial, client int, address string) error {
	connection, err := o.dialMember(dial, client, address)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), memberTimeout)
	defer cancel()
	_, err = agentapi.NewAgentClient(connection).Release(ctx, &agentapi.ReleaseRequest{
		Step: &agentapi.StepKey{Id: o.Step, Attempt: o.Attempt}})
	return err
}
