package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/version"
)

// ahead is the error of one node's clock.
const ahead = time.Minute

// TestClockOfNode checks that a node whose clock is a minute ahead does not falsify the figures: they cover all clients
// over the same time, without clock warnings.
//
// All nodes share the wall clock of this machine's kernel, so only the programs of client 1 see a different time: the
// agent in the clock that it reports, and fio, through a preloaded library, in its timestamps. Certificates, the
// kubelet and the node itself see the true time.
func TestClockOfNode(t *testing.T) {
	members := threeNodes(t)
	s := newSpace(t)
	s.sharedClaim("data")
	s.aheadAgents()
	s.apply(small(lossSeconds).Clients(3).Spread(v1alpha1.SpreadOnePerNode).Obj())
	run := s.busy("01-write")
	pods := s.pods()
	if nodes := nodesOf(pods); !slices.Equal(nodes, namesOf(members)) {
		t.Errorf("the clients run on %q", nodes)
	}
	for index := range 3 {
		off, want := s.clockOff(run, index), time.Duration(0)
		if index == 1 {
			want = ahead
		}
		if (off - want).Abs() > ahead/2 {
			t.Errorf("the clock of client %d is off by %s, want %s", index, off, want)
		}
		var pod corev1.Pod
		if !s.get(objects.PodName(run, objects.Client{Target: "data", Index: index, Attempt: 1}), &pod) {
			t.Fatalf("client %d has no pod", index)
		}
		maps, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(programOf(t, &pod, "/usr/bin/fio")), "maps"))
		must(t, err)
		if loaded := bytes.Contains(maps, []byte("ahead.so")); loaded != (index == 1) {
			t.Errorf("fio of client %d has another clock: %t", index, loaded)
		}
	}
	run = s.ended(wholeRun)
	isComplete(t, run)
	if got, want := attempts(run), []string{"00-layout Succeeded", "01-write Succeeded"}; !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
	didAll(t, run, "write", 3, lossSeconds, 55)
	for _, kind := range []v1alpha1.WarningType{v1alpha1.WarningStartSkew, v1alpha1.WarningClockUncertain, v1alpha1.WarningSamplesLost} {
		if slices.Contains(warned(run, "write"), kind) {
			t.Errorf("a clock that is off has led to %s", kind)
		}
	}
	s.clean()
}

// aheadLibrary is the C source of a library that moves the wall clock of a process a minute ahead.
const aheadLibrary = `#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *now) {
	int result = syscall(SYS_clock_gettime, id, now);
	if (result == 0 && id == CLOCK_REALTIME)
		now->tv_sec += 60;
	return result;
}
int gettimeofday(struct timeval *now, void *zone) {
	struct timespec exact;
	int result = clock_gettime(CLOCK_REALTIME, &exact);
	now->tv_sec = exact.tv_sec;
	now->tv_usec = exact.tv_nsec / 1000;
	return result;
}
time_t time(time_t *into) {
	struct timespec exact;
	clock_gettime(CLOCK_REALTIME, &exact);
	if (into)
		*into = exact.tv_sec;
	return exact.tv_sec;
}
`

// aheadEnvironment replaces BareEnvironment in the agent, so that the tools of client 1 preload the library. %s is the
// library, base64-encoded.
const aheadEnvironment = `
var IsAhead = func() bool {
	name, _ := os.Hostname()
	return strings.HasSuffix(name, "-data-1-1")
}()

const library = %q

func BareEnvironment() []string {
	bare := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	if !IsAhead {
		return bare
	}
	const path = "/tmp/ahead.so"
	content, err := base64.StdEncoding.DecodeString(library)
	// A new file each time, because the previous one may be in use.
	fresh := path + "." + strconv.Itoa(os.Getpid())
	if err := errors.Join(err, os.WriteFile(fresh, content, 0o755), os.Rename(fresh, path)); err != nil {
		panic(err)
	}
	return append(bare, "LD_PRELOAD="+path)
}
`

// aheadAgents makes the operator start clients with the changed agent until the test ends.
func (s *space) aheadAgents() {
	s.Helper()
	folder := s.TempDir()
	source, library := filepath.Join(folder, "ahead.c"), filepath.Join(folder, "ahead.so")
	must(s.T, os.WriteFile(source, []byte(aheadLibrary), 0o600))
	if output, err := exec.CommandContext(s.Context(), "gcc", "-shared", "-fPIC", "-O2", "-o", library, source).CombinedOutput(); err != nil {
		s.Fatalf("building a clock that is ahead: %v\n%s", err, output)
	}
	content, err := os.ReadFile(library)
	must(s.T, err)
	encoded := base64.StdEncoding.EncodeToString(content)

	replaced := map[string]string{}
	overlay := func(file string, changes ...string) {
		path := filepath.Join(s.root, file)
		text, err := os.ReadFile(path)
		must(s.T, err)
		for i := 0; i < len(changes); i += 2 {
			if strings.Count(string(text), changes[i]) != 1 {
				s.Fatalf("%s has not got %s once", file, changes[i])
			}
			text = []byte(strings.Replace(string(text), changes[i], changes[i+1], 1))
		}
		replaced[path] = filepath.Join(folder, filepath.Base(file))
		must(s.T, os.WriteFile(replaced[path], text, 0o600))
	}
	overlay("internal/agent/tool/ask.go",
		`func BareEnvironment() []string { return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"} }`, fmt.Sprintf(aheadEnvironment, encoded),
		"import (\n", "import (\n\t\"encoding/base64\"\n\t\"strconv\"\n\t\"strings\"\n")
	overlay("internal/agent/clock.go",
		"func (SystemClock) Wall() int64 { return read(unix.CLOCK_REALTIME) }",
		"func (SystemClock) Wall() int64 {\n\tif tool.IsAhead {\n\t\treturn read(unix.CLOCK_REALTIME) + int64(time.Minute)\n\t}\n\treturn read(unix.CLOCK_REALTIME)\n}")
	file := filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	must(s.T, err)
	must(s.T, os.WriteFile(file, text, 0o600))
	programs, other := filepath.Join(s.programs, "clock-ahead"), s.version+"-clock-ahead"
	must(s.T, s.compile(s.Context(), s.version, programs, "-overlay", file))
	must(s.T, s.loadOperator(s.Context(), "operator-with-clock-ahead", other, programs))

	u := s.tools()
	deployment := "deployment/" + operatorDeployment
	setImage := func(variable string) {
		u.kubectl("--namespace", operatorNamespace, "set", "env", deployment, variable)
		must(s.T, s.replicas(context.WithoutCancel(s.Context()), 1))
	}
	setImage("AGENT_IMAGE=" + version.Image("operator", other))
	s.Cleanup(func() { setImage("AGENT_IMAGE=" + version.Image("operator", s.version)) })
}

// clockOff returns the lead of the wall clock that a client reports over this machine's.
func (s *space) clockOff(run *v1alpha1.BenchmarkRun, index int) time.Duration {
	s.Helper()
	var pod corev1.Pod
	if !s.get(objects.PodName(run, objects.Client{Target: "data", Index: index, Attempt: 1}), &pod) {
		s.Fatalf("client %d has no pod", index)
	}
	bundle, err := s.authority(run, string(run.UID)).Operator()
	must(s.T, err)
	config, err := bundle.ClientTLS(identity.ClientOf(string(run.UID), "data", index))
	must(s.T, err)
	connection, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(objects.AgentPort)),
		grpc.WithTransportCredentials(credentials.NewTLS(config)))
	must(s.T, err)
	defer connection.Close()
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	told, err := agentapi.NewAgentClient(connection).Clock(ctx, &agentapi.ClockRequest{})
	must(s.T, err)
	return time.Until(time.Unix(0, told.GetWallNanoseconds()))
}
