package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/test/hang"
)

// everyMethod returns a call of each method of the agent. A new method without a call here fails the test. A Watch that
// is allowed ends with its first record.
func everyMethod(ctx context.Context, client agentapi.AgentClient) map[string]func() error {
	return map[string]func() error{
		agentapi.Agent_Describe_FullMethodName: func() error {
			_, err := client.Describe(ctx, &agentapi.DescribeRequest{})
			return err
		},
		agentapi.Agent_Clock_FullMethodName: func() error {
			_, err := client.Clock(ctx, &agentapi.ClockRequest{})
			return err
		},
		agentapi.Agent_Load_FullMethodName: func() error {
			_, err := client.Load(ctx, &agentapi.LoadRequest{})
			return err
		},
		agentapi.Agent_Start_FullMethodName: func() error {
			_, err := client.Start(ctx, &agentapi.StartRequest{})
			return err
		},
		agentapi.Agent_Stop_FullMethodName: func() error {
			_, err := client.Stop(ctx, &agentapi.StopRequest{})
			return err
		},
		agentapi.Agent_Watch_FullMethodName: func() error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			stream, err := client.Watch(ctx, &agentapi.WatchRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		agentapi.Agent_Finish_FullMethodName: func() error {
			// The request is invalid, so that it does not end the agent.
			_, err := client.Finish(ctx, &agentapi.FinishRequest{RemoveClients: []int32{1}})
			return err
		},
		agentapi.Agent_Launch_FullMethodName: func() error {
			stream, err := client.Launch(ctx, &agentapi.LaunchRequest{Command: daemonOf("10.0.0.1")})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		agentapi.Agent_Release_FullMethodName: func() error {
			_, err := client.Release(ctx, &agentapi.ReleaseRequest{})
			return err
		},
	}
}

// TestEachPeerHasItsMethods checks that client 0 of the same target may call only Launch and Release, and the operator
// only the other methods.
func TestEachPeerHasItsMethods(t *testing.T) {
	t.Parallel()
	j := idleJob(t, 2, 1)
	operator, err := authority().Operator()
	must(t, err)
	first, err := authority().Client("target", 0)
	must(t, err)
	expect := identity.ClientOf(runUID, "target", 1)
	must(t, j.clients[1].agent.log.Append(&agentapi.Record{Entry: &agentapi.Record_Started{Started: &agentapi.Started{}}}))
	methods := len(agentapi.Agent_ServiceDesc.Methods) + len(agentapi.Agent_ServiceDesc.Streams)
	for name, bundle := range map[string]identity.Bundle{"operator": operator, "client 0": first} {
		calls := everyMethod(t.Context(), agentapi.NewAgentClient(dialAs(t, bundle, expect, j.addresses[1])))
		if len(calls) != methods {
			t.Fatalf("%d of %d methods are called", len(calls), methods)
		}
		for method, call := range calls {
			launcher := method == agentapi.Agent_Launch_FullMethodName || method == agentapi.Agent_Release_FullMethodName
			allowed := launcher == (name == "client 0")
			if err := call(); allowed == (status.Code(err) == codes.PermissionDenied) {
				t.Errorf("%s calls %s: %v", name, method, err)
			}
		}
	}
}

// TestLoadOfManyFiles checks that an agent accepts a request with as many files as a plan allows per client, all with
// long names and each listed twice.
func TestLoadOfManyFiles(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.tools.fio = &forgotten{} })
	load := request("a", "x")
	for i := range 100_000 {
		load.Dataset.Files = append(load.Dataset.Files, &agentapi.DataFile{
			Name: fmt.Sprintf("data.%d.%d.%d", 100, 1000+i/1000, 1000+i%1000), Bytes: 1 << 40, Volume: 3})
	}
	load.Dataset.Reads = load.Dataset.GetFiles()
	if size := proto.Size(load); size <= 4<<20 {
		t.Fatalf("the request takes only %d bytes, which gRPC accepts by default", size)
	}
	if ended, _ := r.run(load, noLimit); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Errorf("got %v", ended)
	}
}

func TestOtherPeersAreRefused(t *testing.T) {
	t.Parallel()
	j := idleJob(t, 3, 1)
	master, err := identity.NewMaster()
	must(t, err)
	validity := identity.ValidityOf(time.Now(), time.Hour, time.Hour)
	otherMaster, err := identity.ForRun(master, runUID, validity)
	must(t, err)
	bundle := func(a *identity.Authority, target string, client int) identity.Bundle {
		t.Helper()
		made, err := a.Client(target, client)
		must(t, err)
		return made
	}
	sibling := bundle(authority(), "target", 0)
	foreign := bundle(otherMaster, "target", 0)
	for name, test := range map[string]struct {
		bundle identity.Bundle
		client int
	}{
		"client 1 of the same target":              {bundle(authority(), "target", 1), 2},
		"the client itself":                        {bundle(authority(), "target", 1), 1},
		"client 0 of another target":               {bundle(authority(), "other", 0), 1},
		"client 0 of another run, that trusts us":  {identity.Bundle{CAPEM: sibling.CAPEM, CertificatePEM: foreign.CertificatePEM, KeyPEM: foreign.KeyPEM}, 1},
		"client 0 at client 0":                     {sibling, 0},
		"client 2 of the same target, at client 0": {bundle(authority(), "target", 2), 0},
	} {
		connection := dialAs(t, test.bundle, identity.ClientOf(runUID, "target", test.client), j.addresses[test.client])
		for method, call := range everyMethod(t.Context(), agentapi.NewAgentClient(connection)) {
			// The handshake fails, so the agent does not even read the call.
			if err := call(); status.Code(err) != codes.Unavailable {
				t.Errorf("%s calls %s: %v", name, method, err)
			}
		}
	}
}

// daemonOf returns the command line of a daemon with the address of its head node and additional arguments.
func daemonOf(head string, words ...string) []string {
	return append([]string{"orted", "-mca", "orte_leave_session_attached", "1", "-mca", "ess", "env", "-mca", "orte_hnp_uri",
		"25296896.0;tcp://" + head + ":54171"}, words...)
}

// TestLaunchIsForAJobAlone checks that a daemon is launched only for a loaded step of an MPI job.
func TestLaunchIsForAJobAlone(t *testing.T) {
	t.Parallel()
	j := idleJob(t, 2, 1)
	first, err := authority().Client("target", 0)
	must(t, err)
	client := agentapi.NewAgentClient(dialAs(t, first, identity.ClientOf(runUID, "target", 1), j.addresses[1]))
	launch := func(id string, command ...string) error {
		// A launch that is accepted waits for the start of the step.
		ctx, cancel := context.WithTimeout(t.Context(), hang.Guard)
		defer cancel()
		stream, err := client.Launch(ctx, &agentapi.LaunchRequest{Step: key(id), Command: command})
		for err == nil {
			_, err = stream.Recv()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	refused := func(err error, code codes.Code, words string) {
		t.Helper()
		if status.Code(err) != code || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %v with %q", err, code, words)
		}
	}
	command := daemonOf("127.0.0.1")
	refused(launch("a", command...), codes.FailedPrecondition, "not loaded")
	j.clients[1].load(request("fio", quickWrite))
	refused(launch("fio", command...), codes.FailedPrecondition, "not part of an MPI job")
	j.clients[1].start("fio", noLimit)
	j.clients[1].finished("fio")
	j.clients[1].load(j.request(1, "a", "ior", "-o", "data"))
	refused(launch("b", command...), codes.FailedPrecondition, "not loaded")
	refused(launch("a", "sh", "-c", "true"), codes.PermissionDenied, "only orted and prted")
	refused(launch("a", daemonOf("127.0.0.1", "-mca", "plm_rsh_agent", "/tmp/x")...), codes.PermissionDenied, "plm_rsh_agent")
	refused(launch("a", daemonOf("10.0.0.1")...), codes.PermissionDenied, "controlled from [10.0.0.1")
	if _, err := client.Release(t.Context(), &agentapi.ReleaseRequest{Step: key("other")}); err != nil {
		t.Errorf("a release that is too late: %v", err)
	}
	j.clients[1].start("a", noLimit)
	// Client 0 has no directory yet in which the daemon could work.
	refused(launch("a", command...), codes.FailedPrecondition, "check that all clients mount the same volume")
	for range 2 {
		_, err := client.Release(t.Context(), &agentapi.ReleaseRequest{Step: key("a")})
		must(t, err)
	}
	if ended, _ := j.clients[1].finished("a"); ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Errorf("got %v", ended)
	}
	refused(launch("a", command...), codes.FailedPrecondition, "not loaded")
}

// TestLaunchOfAnothersStep checks that client 0 can neither launch nor release a step whose launcher is another client.
func TestLaunchOfAnothersStep(t *testing.T) {
	t.Parallel()
	j := idleJob(t, 3, 1)
	first, err := authority().Client("target", 0)
	must(t, err)
	client := agentapi.NewAgentClient(dialAs(t, first, identity.ClientOf(runUID, "target", 2), j.addresses[2]))
	load := j.request(2, "a", "ior", "-o", "data")
	load.GetMpi().Clients = load.GetMpi().GetClients()[1:]
	j.clients[2].load(load)
	stream, err := client.Launch(t.Context(), &agentapi.LaunchRequest{Step: key("a"), Command: daemonOf("10.0.0.1")})
	must(t, err)
	if _, err := stream.Recv(); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "may be launched only by") {
		t.Errorf("launch: %v", err)
	}
	if _, err := client.Release(t.Context(), &agentapi.ReleaseRequest{Step: key("a")}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("release: %v", err)
	}
}
