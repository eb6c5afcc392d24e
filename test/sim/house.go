package sim

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/test/burstfs/truth"
)

// House is where the clients of a run live. It outlives operators.
type House struct {
	runUID        string
	orphanTimeout time.Duration
	stores        map[string]*Store
	authority     *identity.Authority
	folder        string
	// born is when the machines' clocks agreed; DriftPPM is by how much those of even clients are fast and the others slow.
	born     time.Time
	DriftPPM int64

	mu      sync.Mutex
	members map[decide.ClientKey]*Member
	files   map[decide.ClientKey]*Files
	// Begun is how often fio began each attempt of a step, by "step#attempt client".
	begun map[string]int
	all   sync.WaitGroup
}

// Member is one agent of a client, with what is around it.
type Member struct {
	key      decide.ClientKey
	attempt  int
	agent    *agent.Agent
	server   *grpc.Server
	listener *bufconn.Listener

	mu sync.Mutex
	// down says that its wire is cut; ends are its open connections.
	down bool
	ends []net.Conn
	// exited is closed when its process has ended, with what it said.
	exited chan struct{}
	said   string
	left   time.Time
}

// newHouse makes one without clients.
func newHouse(runUID string, orphanTimeout time.Duration, stores map[string]*Store) (*House, error) {
	master, err := identity.NewMaster()
	if err != nil {
		return nil, err
	}
	authority, err := identity.ForRun(master, runUID, identity.ValidityOf(time.Now(), 60*24*time.Hour, time.Hour))
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "sim")
	if err != nil {
		return nil, err
	}
	return &House{runUID: runUID, orphanTimeout: orphanTimeout, stores: stores, authority: authority, folder: folder, born: time.Now(), DriftPPM: 100,
		members: map[decide.ClientKey]*Member{}, files: map[decide.ClientKey]*Files{}, begun: map[string]int{}}, nil
}

// close ends all that is left.
func (h *House) close() {
	for _, m := range h.Members() {
		h.Kill(m.key)
	}
	h.all.Wait()
	_ = os.RemoveAll(h.folder)
}

// Store of a target.
func (h *House) Store(target string) *Store { return h.stores[target] }

// Record is what the store of a target did, up to now. The second that has begun is waited for.
func (h *House) Record(target string) truth.Record {
	time.Sleep(time.Second)
	return h.stores[target].Record()
}

// Members are the newest agents of all clients.
func (h *House) Members() []*Member {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*Member
	for _, m := range h.members {
		all = append(all, m)
	}
	return all
}

// Member is the newest agent of a client.
func (h *House) Member(key decide.ClientKey) *Member {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.members[key]
}

// Files of a client.
func (h *House) Files(key decide.ClientKey) *Files {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files[key] == nil {
		h.files[key] = &Files{}
	}
	return h.files[key]
}

// Begun is how often fio began each attempt of a step on each client.
func (h *House) Begun() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]int{}
	for name, count := range h.begun {
		all[name] = count
	}
	return all
}

// start starts an agent of a client.
func (h *House) start(key decide.ClientKey, attempt int) error {
	// Machines differ in their uptime, in the error of their wall clocks, and in the speed of their clocks: quartz is within
	// 100 ppm, which is 4 s in twelve hours.
	clock := Clock{origin: h.born.Add(-time.Duration(1+key.Index) * 100 * time.Hour), driftPPM: h.DriftPPM * int64(1-2*(key.Index%2)),
		WallOff: time.Duration(key.Index-1) * time.Minute}
	fio := &Fio{store: h.stores[key.Target], clock: clock, files: h.Files(key), delay: firstIO + time.Duration(key.Index)*laterIO,
		begun: func(step *agentapi.StepKey) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.begun[fmt.Sprintf("%s#%d %s", step.GetId(), step.GetAttempt(), key)]++
		}}
	bundle, err := h.authority.Client(key.Target, key.Index)
	if err != nil {
		return err
	}
	served := agent.NewWithRunner(agent.Config{
		RunUID: h.runUID, RunName: "run", Target: key.Target, Client: key.Index, Identity: bundle,
		Volumes:   []agent.VolumeConfig{{Name: "data", Path: h.folder}},
		Benchmark: "benchmark", BenchmarkUID: "benchmark-1", DatasetHash: "hash", OrphanTimeout: h.orphanTimeout,
	}, clock, fio)
	server, err := served.NewServer()
	if err != nil {
		return err
	}
	m := &Member{key: key, attempt: attempt, agent: served, server: server, listener: bufconn.Listen(1 << 20), exited: make(chan struct{})}
	h.mu.Lock()
	h.members[key] = m
	h.mu.Unlock()
	h.all.Go(func() { _ = m.server.Serve(slowListener{m.listener}) })
	h.all.Go(m.stay)
	return nil
}

// stay is the life of an agent's process, see agent.Serve.
func (m *Member) stay() {
	ctx, cancel := context.WithCancel(context.Background())
	orphaned := make(chan struct{})
	go func() {
		if m.agent.WatchOrphaned(ctx) == nil {
			m.said = m.agent.Abandon("nobody has spoken to it")
		}
		close(orphaned)
	}()
	<-m.agent.Finished()
	cancel()
	<-orphaned
	// The answer to Finish is on its way.
	time.Sleep(10 * time.Millisecond)
	m.server.Stop()
	m.left = time.Now()
	close(m.exited)
}

// Left waits for the agent to leave, and gives when it did.
func (m *Member) Left() time.Time {
	<-m.exited
	return m.left
}

// Said is what an agent said that left by itself, once it has.
func (m *Member) Said() string { return m.said }

// lives reports whether the agent's process is there.
func (m *Member) lives() bool {
	select {
	case <-m.exited:
		return false
	default:
		return true
	}
}

// dial opens a connection to the agent.
func (m *Member) dial(ctx context.Context, _ string) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return nil, fmt.Errorf("the wire to %s is cut", m.key)
	}
	fast, err := m.listener.DialContext(ctx)
	if err != nil {
		return nil, err
	}
	end := slow(fast)
	m.ends = append(m.ends, end)
	return end, nil
}

// Cut breaks the connections to an agent until Mend.
func (m *Member) Cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = true
	for _, end := range m.ends {
		_ = end.Close()
	}
	m.ends = nil
}

// Mend lets connections through again.
func (m *Member) Mend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = false
}

// Kill ends an agent and its fio at once: it says nothing any more.
func (h *House) Kill(key decide.ClientKey) {
	m := h.Member(key)
	if m == nil || !m.lives() {
		return
	}
	m.Cut()
	m.server.Stop()
	m.agent.Abandon("killed")
	<-m.exited
}

// endpoint is how a conductor reaches an agent.
func (h *House) endpoint(m *Member) (conductor.Endpoint, error) {
	operator, err := h.authority.Operator()
	if err != nil {
		return conductor.Endpoint{}, err
	}
	var config *tls.Config
	if config, err = operator.ClientTLS(identity.ClientOf(h.runUID, m.key.Target, m.key.Index)); err != nil {
		return conductor.Endpoint{}, err
	}
	return conductor.Endpoint{Key: m.key, TLS: config, Dial: m.dial, Replacements: m.attempt,
		Locate: func(context.Context) (string, error) { return "agent", nil }}, nil
}
