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

// TestMPILaunchRefuses: while a job is at work, nobody but its client 0 may have something started by another
// client of it, and client 0 nothing but MPI's daemon.
func TestMPILaunchRefuses(t *testing.T) {
	soak.Only(t)
	s, image := newMPISpace(t)
	s.burstClaim("data", lustre(1))
	s.apply(mpiBenchmark(image, directIOR("4Mi"), "data").Prepare("layout").
		Steady("write", "25s").WithLoad(directIOR("4Mi").Overwrites().Engine()).Obj())
	pods := s.atWork("01-write", 8)
	run := s.run()
	before := processesOf(t, pods)
	daemon := []string{"orted", "-mca", "ess", "env", "-mca", "ess_base_jobid", "1"}
	own, foreign := s.authority(run, string(run.UID)), s.authority(run, "another-run")
	for name, test := range map[string]struct {
		as      func() (identity.Bundle, error)
		command []string
	}{
		"the operator":                     {own.Operator, daemon},
		"client 1 of the target":           {func() (identity.Bundle, error) { return own.Client("data", 1) }, daemon},
		"the client itself":                {func() (identity.Bundle, error) { return own.Client("data", 2) }, daemon},
		"client 0 of another target":       {func() (identity.Bundle, error) { return own.Client("other", 0) }, daemon},
		"client 0 of another run":          {func() (identity.Bundle, error) { return foreign.Client("data", 0) }, daemon},
		"client 0, a shell":                {func() (identity.Bundle, error) { return own.Client("data", 0) }, []string{"sh", "-c", "orted"}},
		"client 0, a path of its own":      {func() (identity.Bundle, error) { return own.Client("data", 0) }, []string{"/tmp/orted"}},
		"client 0, a daemon with a script": {func() (identity.Bundle, error) { return own.Client("data", 0) }, []string{"orted;sh"}},
		"client 0, nothing":                {func() (identity.Bundle, error) { return own.Client("data", 0) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bundle, err := test.as()
			must(t, err)
			err = s.launch(run, 2, bundle, test.command)
			refusals := []codes.Code{codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument}
			// Of whom an agent never expects, TLS is the refusal. That others get through shows that there is a way.
			if name != "the operator" && !strings.HasPrefix(name, "client 0, ") {
				refusals = append(refusals, codes.Unavailable)
			}
			if !slices.Contains(refusals, status.Code(err)) {
				t.Errorf("it was not refused: %v", err)
			}
			t.Log(err)
		})
	}
	// Those that have ended meanwhile are nobody's launch: agents ask for orphans later.
	more := slices.DeleteFunc(processesOf(t, pods), func(now podProcess) bool {
		return slices.ContainsFunc(before, func(one podProcess) bool { return one.pid == now.pid })
	})
	if len(more) > 0 {
		t.Errorf("these processes of the job were not there before: %+v", more)
	}
	if step := stepOf(s.run(), "01-write"); step.EndTime != nil {
		t.Error("the job was over before all had tried: this shows nothing")
	}
	isComplete(t, s.ended(wholeRun))
	s.clean()
}

// authority makes identities of a run from the master key, which only the operator can read. Its own UID is that of
// the run; another one is that of a run that there is not.
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

// launch asks a client to start a command, and gives its refusal.
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
