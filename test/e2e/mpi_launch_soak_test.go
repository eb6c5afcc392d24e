package e2e

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	installed "github.com/storagebench/storagebench/internal/installation"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/soak"
)

// TestMPILaunchRefuses checks that during a job, only the job's client 0 may start something in another client, and
// only MPI's daemon with client 0 as its head.
func TestMPILaunchRefuses(t *testing.T) {
	soak.Only(t)
	s, image := newMPISpace(t)
	s.burstClaim("data", lustre(1))
	s.apply(mpiBenchmark(image, directIOR("4Mi"), "data").Prepare("layout").
		Steady("write", "25s").WithLoad(directIOR("4Mi").Overwrites().Engine()).Obj())
	pods := s.atWork("01-write", 8)
	run := s.run()
	before := processesOf(t, pods)
	// As MPI itself launches it, except for the address of its head, which is not the caller's.
	daemon := []string{"orted", "-mca", "orte_leave_session_attached", "1", "-mca", "ess", "env", "-mca", "ess_base_jobid", "1",
		"-mca", "orte_hnp_uri", "1.0;tcp://192.0.2.1:4000"}
	own, foreign := s.authority(run, string(run.UID)), s.authority(run, "another-run")
	launcher := func() (identity.Bundle, error) { return own.Client("data", 0) }
	// TLS rejects callers that an agent never accepts, without a message. The other cases get a message, which shows that
	// the agent can be reached.
	for name, test := range map[string]struct {
		as      func() (identity.Bundle, error)
		command []string
		says    string
	}{
		"the operator":                     {as: own.Operator, command: daemon, says: "is not allowed to call"},
		"client 1 of the target":           {as: func() (identity.Bundle, error) { return own.Client("data", 1) }, command: daemon},
		"the client itself":                {as: func() (identity.Bundle, error) { return own.Client("data", 2) }, command: daemon},
		"client 0 of another target":       {as: func() (identity.Bundle, error) { return own.Client("other", 0) }, command: daemon},
		"client 0 of another run":          {as: func() (identity.Bundle, error) { return foreign.Client("data", 0) }, command: daemon},
		"client 0, a daemon of another":    {as: launcher, command: daemon, says: "not from the caller's own address"},
		"client 0, a shell":                {as: launcher, command: []string{"sh", "-c", "orted"}, says: "only orted and prted may be launched"},
		"client 0, a path of its own":      {as: launcher, command: []string{"/tmp/orted"}, says: "only orted and prted may be launched"},
		"client 0, a daemon with a script": {as: launcher, command: []string{"orted;sh"}, says: "only orted and prted may be launched"},
		"client 0, nothing":                {as: launcher, says: "only orted and prted may be launched"},
	} {
		t.Run(name, func(t *testing.T) {
			bundle, err := test.as()
			must(t, err)
			err = s.launch(run, 2, bundle, test.command)
			want := codes.PermissionDenied
			if test.says == "" {
				want = codes.Unavailable
			}
			if status.Code(err) != want || !strings.Contains(status.Convert(err).Message(), test.says) {
				t.Errorf("refused with %v, want %s: %s", err, want, test.says)
			}
		})
	}
	// Ignore processes that have ended since.
	more := slices.DeleteFunc(processesOf(t, pods), func(now podProcess) bool {
		return slices.ContainsFunc(before, func(one podProcess) bool { return one.pid == now.pid })
	})
	if len(more) > 0 {
		t.Errorf("the job has new processes: %+v", more)
	}
	if step := stepOf(s.run(), "01-write"); step.EndTime != nil {
		t.Error("the job was over before all had tried: this shows nothing")
	}
	isComplete(t, s.ended(wholeRun))
	s.clean()
}

// authority returns an authority made from the master key, which only the operator can read. With the run's UID, it
// issues identities of that run; with another UID, of a run that does not exist.
func (s *space) authority(run *v1alpha1.BenchmarkRun, uid string) *identity.Authority {
	s.Helper()
	var secret corev1.Secret
	must(s.T, s.api.Get(s.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: installed.MasterSecret}, &secret))
	master, err := identity.ParseMaster(string(secret.Data[installed.MasterKey]))
	must(s.T, err)
	deadline, err := run.Spec.Run.ActiveDeadline.Parse()
	must(s.T, err)
	orphan, err := run.Spec.Run.OrphanTimeout.Parse()
	must(s.T, err)
	authority, err := identity.ForRun(master, uid, identity.ValidityOf(run.CreationTimestamp.Time, deadline, orphan))
	must(s.T, err)
	return authority
}

// launch asks a client to start a command, and returns its refusal.
func (s *space) launch(run *v1alpha1.BenchmarkRun, index int, as identity.Bundle, command []string) error {
	s.Helper()
	var pod corev1.Pod
	if !s.get(objects.PodName(run, objects.Client{Target: "data", Index: index, Attempt: 1}), &pod) {
		s.Fatalf("client %d has no pod", index)
	}
	config, err := as.ClientTLS(identity.ClientOf(string(run.UID), "data", index))
	must(s.T, err)
	connection, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(objects.AgentPort)),
		grpc.WithTransportCredentials(credentials.NewTLS(config)))
	must(s.T, err)
	defer connection.Close()
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
	defer cancel()
	step := &agentapi.StepKey{Id: "01-write", Attempt: uint32(stepOf(run, "01-write").Attempt)} // #nosec G115 -- a small count
	stream, err := agentapi.NewAgentClient(connection).Launch(ctx, &agentapi.LaunchRequest{Step: step, Command: command})
	if err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}
