package conductor_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/leftover"
)

func TestMain(m *testing.M) {
	if _, err := exec.LookPath("fio"); err != nil {
		panic("these tests need fio: " + err.Error())
	}
	// The tests mostly wait, so run more of them in parallel. -parallel on the command line overrides this.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := m.Run()
	if code == 0 {
		if err := leftover.Check(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

const runUID = "run-1"

var authority = sync.OnceValue(func() *identity.Authority {
	master, err := identity.NewMaster()
	if err != nil {
		panic(err)
	}
	made, err := identity.ForRun(master, runUID, identity.ValidityOf(time.Now(), time.Hour, time.Hour))
	if err != nil {
		panic(err)
	}
	return made
})

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func clientKey(index int) decide.ClientKey { return decide.ClientKey{Target: "target", Index: index} }

// serve serves an agent over gRPC with mTLS and returns its address.
func serve(t *testing.T, index int, service agentapi.AgentServer) string {
	t.Helper()
	bundle, err := authority().Client("target", index)
	must(t, err)
	tls, err := bundle.ServerTLS(identity.OperatorOf(runUID))
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(tls)))
	agentapi.RegisterAgentServer(server, service)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		must(t, <-failed)
	})
	return listener.Addr().String()
}

// agentAt starts a real agent in this process that runs real fio, and returns its address.
func agentAt(t *testing.T, index int) string {
	t.Helper()
	return serve(t, index, agentOf(t, index))
}

func agentOf(t *testing.T, index int) *agent.Agent {
	t.Helper()
	bundle, err := authority().Client("target", index)
	must(t, err)
	served := agent.New(agent.Config{
		RunUID: runUID, RunName: "run", Target: "target", Client: index, Identity: bundle,
		Volumes:   []agent.VolumeConfig{{Name: "data", Path: t.TempDir()}},
		Benchmark: "benchmark", BenchmarkUID: "benchmark-1", DatasetHash: "hash", OrphanTimeout: time.Hour,
	}, agent.SystemClock{})
	served.TakeLateOrders(hang.Guard)
	t.Cleanup(func() { served.Abandon("the test is over") })
	return served
}

func endpoint(t *testing.T, index int, address string) conductor.Endpoint {
	t.Helper()
	operator, err := authority().Operator()
	must(t, err)
	tls, err := operator.ClientTLS(identity.ClientOf(runUID, "target", index))
	must(t, err)
	return conductor.Endpoint{Key: clientKey(index), TLS: tls,
		Locate: func(context.Context) (string, error) { return address, nil }}
}

// steps returns all steps that the tests request or that appear in the agents' logs.
func steps() []plan.Step {
	var all []plan.Step
	for _, id := range []string{first.Step, "01-write", "1", "2"} {
		all = append(all, plan.Step{ID: id, Targets: []string{"target"}, Clients: 64})
	}
	return all
}

func conduct(t *testing.T, epoch uint64, lossTimeout time.Duration) *conductor.Conductor {
	t.Helper()
	made := conductor.New(conductor.Options{RunUID: runUID, Epoch: epoch, LossTimeout: lossTimeout, Steps: steps()})
	t.Cleanup(made.Close)
	return made
}

// await waits until wanted returns true for a client, and returns the client.
func await(t *testing.T, c *conductor.Conductor, index int, what string, wanted func(decide.Client) bool) decide.Client {
	t.Helper()
	deadline := time.After(hang.Guard)
	for {
		var found decide.Client
		for _, client := range c.Clients() {
			if client.Key == clientKey(index) {
				found = client
			}
		}
		if wanted(found) {
			return found
		}
		select {
		case <-c.Changed():
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("hung: client %d is not %s: %+v", index, what, found)
		}
	}
}

func is(connection decide.Connection) func(decide.Client) bool {
	return func(c decide.Client) bool { return c.Connection == connection }
}

func has(attempt decide.Attempt, progress decide.Progress) func(decide.Client) bool {
	return func(c decide.Client) bool { return c.Attempts[attempt].Progress == progress }
}

var first = decide.Attempt{Step: "00-write", Number: 1}

// load requests a job that writes at 2 MiB/s until it is stopped, with a sample every 100 ms.
func load(decide.ClientKey) *agentapi.LoadRequest {
	const day = 24 * time.Hour
	job := "[global]\ngroup_reporting=1\nlat_percentiles=1\nfilename_format=data.$jobnum.$filenum\n" +
		fmt.Sprintf("ioengine=psync\nrw=write\nbs=4k\nsize=1m\nrate=2m\ntime_based=1\nruntime=%.0f\n[job]\n", day.Seconds())
	return &agentapi.LoadRequest{Dataset: &agentapi.Dataset{}, Tool: &agentapi.LoadRequest_Fio{Fio: &agentapi.FioTool{
		Job: job, Jobs: 1, DurationNanoseconds: int64(day), SampleIntervalNanoseconds: 1e8}}}
}

// begin loads and starts an attempt, and waits until it runs.
func begin(t *testing.T, c *conductor.Conductor, attempt decide.Attempt, indices ...int) {
	t.Helper()
	var keys []decide.ClientKey
	for _, index := range indices {
		await(t, c, index, "ready", is(decide.Ready))
		keys = append(keys, clientKey(index))
	}
	for _, index := range indices {
		await(t, c, index, "loaded", func(client decide.Client) bool {
			if client.Attempts[attempt].Progress == "" {
				// Repeat a command that was not sent or not answered yet, as decide does.
				c.Load(attempt, []decide.ClientKey{client.Key}, load)
			}
			return client.Attempts[attempt].Progress == decide.Loaded
		})
	}
	at := c.Reference.Now()
	c.Start(attempt, keys, at, at.Add(time.Hour))
	for _, index := range indices {
		await(t, c, index, "running", has(attempt, decide.Running))
	}
}

// grows waits until a client has reported the given number of further samples.
func grows(t *testing.T, c *conductor.Conductor, attempt decide.Attempt, index, more int) {
	t.Helper()
	before := len(samplesOf(clientAttempt(t, c, attempt, index)))
	await(t, c, index, "telling of more samples", func(decide.Client) bool { return len(samplesOf(clientAttempt(t, c, attempt, index))) >= before+more })
}

// end stops an attempt and waits until it has ended.
func end(t *testing.T, c *conductor.Conductor, attempt decide.Attempt, indices ...int) {
	t.Helper()
	for _, index := range indices {
		c.Stop(attempt, []decide.ClientKey{clientKey(index)}, "enough")
	}
	for _, index := range indices {
		await(t, c, index, "ended", has(attempt, decide.Ended))
	}
}

// clientAttempt returns the report of one client on an attempt.
func clientAttempt(t *testing.T, c *conductor.Conductor, attempt decide.Attempt, index int) result.Client {
	t.Helper()
	for _, client := range c.Results(attempt) {
		if client.Index == index {
			return client
		}
	}
	t.Fatalf("there is no result of client %d", index)
	return result.Client{}
}

func samplesOf(client result.Client) []measure.Sample {
	if client.Samples == nil {
		return nil
	}
	return slices.Collect(client.Samples)
}

// seamless checks that the samples have no gaps and add up to the total that the tool reported.
func seamless(t *testing.T, client result.Client) {
	t.Helper()
	samples := samplesOf(client)
	if client.Failure != "" || !client.Ended || len(samples) < 5 {
		t.Fatalf("failure %q (%s), ended %t, %d samples", client.Failure, client.FailureMessage, client.Ended, len(samples))
	}
	var sum uint64
	for i, sample := range samples {
		if i > 0 && sample.StartNanoseconds != samples[i-1].EndNanoseconds {
			t.Errorf("sample %d begins at %d, and the one before ends at %d", i, sample.StartNanoseconds, samples[i-1].EndNanoseconds)
		}
		for _, counter := range sample.Counters {
			sum += counter.Bytes
		}
	}
	var total uint64
	for _, operation := range client.Operations {
		total += operation.Bytes
	}
	if sum != total || total == 0 {
		t.Errorf("samples add up to %d bytes, fio says %d", sum, total)
	}
}

// wire is a proxy between conductor and agent whose connections can be cut.
type wire struct {
	address string
	mu      sync.Mutex
	ends    []net.Conn
	down    bool
	// refused counts the connections refused since the wire was cut.
	refused int
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w := &wire{address: listener.Addr().String()}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil || !w.add(near, far) {
				_ = near.Close()
				if far != nil {
					_ = far.Close()
				}
				continue
			}
			for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
				all.Go(func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut()
		all.Wait()
	})
	return w
}

func (w *wire) add(ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		w.refused++
		return false
	}
	w.ends = append(w.ends, ends...)
	return true
}

// cut closes all connections and refuses new ones until mend is called.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down, w.refused = true, 0
	for _, end := range w.ends {
		_ = end.Close()
	}
	w.ends = nil
}

// noticed waits until the conductor has tried to reconnect.
func (w *wire) noticed(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang.Guard)
	defer cancel()
	for ctx.Err() == nil {
		w.mu.Lock()
		refused := w.refused
		w.mu.Unlock()
		if refused > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("hung: the conductor does not notice that the wire is cut")
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}
