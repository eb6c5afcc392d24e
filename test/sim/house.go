package sim

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
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

// House contains the clients of a run. It outlives operators.
type House struct {
	runUID        string
	orphanTimeout time.Duration
	stores        map[string]*Store
	authority     *identity.Authority
	folder        string
	// born is the time at which the machines' clocks agreed. DriftPPM is the drift of the clocks: clocks of clients with
	// an even index are fast, the others slow.
	born     time.Time
	DriftPPM int64

	mu sync.Mutex
	// fioVersion is the version of fio for agents that start from now on.
	fioVersion string
	members    map[decide.ClientKey]*Member
	files      map[decide.ClientKey]*Files
	// jobs holds the MPI jobs by number.
	jobs []*job
	// begun counts how often fio, mpirun or an MPI daemon was started for each attempt of a step. The keys are
	// "step#attempt client".
	begun map[string]int
	all   sync.WaitGroup
}

// Member is an agent of a client, with its machine, server and connections.
type Member struct {
	key      decide.ClientKey
	attempt  int
	agent    *agent.Agent
	machine  *Machine
	callers  chan net.Addr
	server   *grpc.Server
	listener *bufconn.Listener

	mu sync.Mutex
	// down is true if all connections to the agent are cut, and unheard if only the operator's are. ends holds the open
	// connections, and operators those of the operator.
	down, unheard   bool
	ends, operators []net.Conn
	// exited is closed when the agent's process has ended. said is then its last message.
	exited chan struct{}
	said   string
	left   time.Time
}

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
	return &House{runUID: runUID, orphanTimeout: orphanTimeout, stores: stores, authority: authority, folder: folder,
		born: time.Now(), DriftPPM: 100, fioVersion: "fio-3.42",
		members: map[decide.ClientKey]*Member{}, files: map[decide.ClientKey]*Files{}, begun: map[string]int{}}, nil
}

// close kills all clients and waits for everything to end.
func (h *House) close() {
	for _, m := range h.Members() {
		h.Kill(m.key)
	}
	h.all.Wait()
	_ = os.RemoveAll(h.folder)
}

// Processes returns the number of live processes of MPI jobs and commands on all clients.
func (h *House) Processes() (left int) {
	for _, m := range h.Members() {
		left += m.machine.alive()
	}
	return left
}

// Store returns the store of a target.
func (h *House) Store(target string) *Store { return h.stores[target] }

// Record returns the record of a target's store up to now. It first waits for the current second to end.
func (h *House) Record(target string) truth.Record {
	time.Sleep(time.Second)
	return h.stores[target].Record()
}

// Members returns the newest agents of all clients.
func (h *House) Members() []*Member {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*Member
	for _, m := range h.members {
		all = append(all, m)
	}
	return all
}

// Member returns the newest agent of a client, or nil if it has none.
func (h *House) Member(key decide.ClientKey) *Member {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.members[key]
}

// Upgrade sets the version of fio for agents that start from now on.
func (h *House) Upgrade(fioVersion string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fioVersion = fioVersion
}

// Files returns the files of a client.
func (h *House) Files(key decide.ClientKey) *Files {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.files[key] == nil {
		h.files[key] = &Files{}
	}
	return h.files[key]
}

// Begun returns how often fio, mpirun or an MPI daemon was started for each attempt of a step on each client.
func (h *House) Begun() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]int{}
	for name, count := range h.begun {
		all[name] = count
	}
	return all
}

// begin counts the start of a tool for an attempt of a step.
func (h *House) begin(step string, attempt uint32, key decide.ClientKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun[fmt.Sprintf("%s#%d %s", step, attempt, key)]++
}

// start starts an agent of a client.
func (h *House) start(key decide.ClientKey, attempt int) error {
	// Machines differ in uptime, in the error of their wall clocks, and in the speed of their clocks. A quartz clock
	// drifts by up to 100 ppm, which is 4 s in twelve hours.
	clock := Clock{origin: h.born.Add(-time.Duration(1+key.Index) * 100 * time.Hour), driftPPM: h.DriftPPM * int64(1-2*(key.Index%2)),
		WallOff: time.Duration(key.Index-1) * time.Minute}
	fio := &Fio{store: h.stores[key.Target], clock: clock, files: h.Files(key), delay: firstIO + time.Duration(key.Index)*laterIO,
		begun: func(step *agentapi.StepKey) { h.begin(step.GetId(), step.GetAttempt(), key) }}
	bundle, err := h.authority.Client(key.Target, key.Index)
	if err != nil {
		return err
	}
	machine := &Machine{house: h, key: key, address: h.address(key), store: h.stores[key.Target]}
	served := agent.NewSimulated(agent.Config{
		RunUID: h.runUID, RunName: "run", Target: key.Target, Client: key.Index, Identity: bundle,
		Volumes:   []agent.VolumeConfig{{Name: "data", Path: h.folder}},
		Benchmark: "benchmark", BenchmarkUID: "benchmark-1", DatasetHash: "hash", OrphanTimeout: h.orphanTimeout,
		KeepData: true, // A killed agent removes nothing.
	}, clock, fio, machine, machine.dial)
	server, err := served.NewServer()
	if err != nil {
		return err
	}
	m := &Member{key: key, attempt: attempt, agent: served, machine: machine, callers: make(chan net.Addr, 64), server: server, listener: bufconn.Listen(1 << 20), exited: make(chan struct{})}
	h.mu.Lock()
	h.members[key], fio.version = m, h.fioVersion
	h.mu.Unlock()
	h.all.Go(func() { _ = m.server.Serve(slowListener{m.listener, m.callers}) })
	h.all.Go(m.stay)
	return nil
}

// stay simulates an agent's process; see agent.Serve.
func (m *Member) stay() {
	ctx, cancel := context.WithCancel(context.Background())
	orphaned := make(chan struct{})
	go func() {
		if m.agent.WatchOrphaned(ctx) == nil {
			m.said = m.agent.Abandon("no contact with its conductor")
		}
		close(orphaned)
	}()
	<-m.agent.Finished()
	cancel()
	<-orphaned
	// Wait until the response to Finish has been delivered.
	time.Sleep(10 * time.Millisecond)
	m.server.Stop()
	m.left = time.Now()
	close(m.exited)
}

// Left waits until the agent has exited, and returns the time of its exit.
func (m *Member) Left() time.Time {
	<-m.exited
	return m.left
}

// Said returns the last message of an agent that exited without a request from its conductor.
func (m *Member) Said() string { return m.said }

// lives reports whether the agent's process is running.
func (m *Member) lives() bool {
	select {
	case <-m.exited:
		return false
	default:
		return true
	}
}

func (h *House) address(key decide.ClientKey) string {
	targets := slices.Sorted(maps.Keys(h.stores))
	return fmt.Sprintf("10.0.%d.%d:9000", slices.Index(targets, key.Target), key.Index+1)
}

const operatorAddress = "10.1.0.1:9000"

// at returns the newest agent with an address, or nil if there is none.
func (h *House) at(address string) *Member {
	for _, m := range h.Members() {
		if m.machine.address == address {
			return m
		}
	}
	return nil
}

// open adds a job and returns its number.
func (h *House) open(j *job) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.jobs = append(h.jobs, j)
	return len(h.jobs) - 1
}

func (h *House) job(id int) *job {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.jobs[id]
}

// dial opens a connection of the operator to the agent.
func (m *Member) dial(ctx context.Context, _ string) (net.Conn, error) {
	m.mu.Lock()
	unheard := m.unheard
	m.mu.Unlock()
	if unheard {
		return nil, fmt.Errorf("the wire from the operator to %s is cut", m.key)
	}
	end, err := m.open(ctx, operatorAddress)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.operators = append(m.operators, end)
	}
	return end, err
}

// connect opens a connection from another client to the agent. The connection breaks when either of the two is cut off.
func (m *Member) connect(ctx context.Context, from *Machine) (net.Conn, error) {
	end, err := m.open(ctx, from.address)
	if caller := from.house.at(from.address); err == nil && caller != nil && caller != m {
		caller.mu.Lock()
		defer caller.mu.Unlock()
		caller.ends = append(caller.ends, end)
	}
	return end, err
}

func (m *Member) open(ctx context.Context, from string) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return nil, fmt.Errorf("the wire to %s is cut", m.key)
	}
	fast, err := m.listener.DialContext(ctx)
	if err != nil {
		return nil, err
	}
	m.callers <- net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))
	end := slow(fast)
	end.from = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(m.machine.address))
	m.ends = append(m.ends, end)
	return end, nil
}

// Cut breaks all connections to an agent, and prevents new ones until Mend is called.
func (m *Member) Cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = true
	for _, end := range m.ends {
		_ = end.Close()
	}
	m.ends = nil
}

// CutOperator breaks the operator's connections to an agent, and prevents new ones until Mend is called. Other clients
// can still connect.
func (m *Member) CutOperator() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unheard = true
	for _, end := range m.operators {
		_ = end.Close()
	}
	m.operators = nil
}

// Mend allows connections again.
func (m *Member) Mend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down, m.unheard = false, false
}

// Kill kills a client at once, with its agent and its tools. The agent sends no further message.
func (h *House) Kill(key decide.ClientKey) {
	m := h.Member(key)
	if m == nil || !m.lives() {
		return
	}
	m.Cut()
	m.machine.die()
	m.server.Stop()
	m.agent.Abandon("killed")
	<-m.exited
}

// endpoint returns the endpoint by which a conductor reaches an agent.
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
		Locate: func(context.Context) (string, error) { return m.machine.address, nil }}, nil
}
