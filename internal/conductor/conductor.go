package conductor

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// Endpoint describes where and how to reach an agent.
type Endpoint struct {
	Key decide.ClientKey
	// Locate waits until the agent's host and port are known, and returns them.
	Locate func(context.Context) (string, error)
	// TLS is the configuration that presents the conductor's certificate to the agent, and accepts only the agent of
	// this client.
	TLS *tls.Config
	// Dial connects to the agent. If it is nil, TCP is used.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Replacements is the number of times that the client had been replaced before this conductor connected to it.
	Replacements int
}

// Options are the settings of a conductor.
type Options struct {
	RunUID string
	// Epoch is the leader's epoch; agents refuse commands with a lower epoch than the highest one they have seen.
	Epoch uint64
	// Tools returns the programs that the clients of a target need; see plan.Plan.Tools. If Tools is nil, clients need
	// only fio, and agents do not have to report which programs they have.
	Tools func(target string) []string
	// LossTimeout limits how long a ready agent may be unreachable before it is lost.
	LossTimeout time.Duration
	// Steps lists the steps of the plan. Records maps step IDs to the records of the steps that have already begun. The
	// conductor ignores reports about other steps, and about attempts that were not sent with Load. For attempts whose
	// results are recorded, it keeps only the progress and the totals.
	Steps   []plan.Step
	Records map[string]decide.Record
	// Memory limits the memory for the reports of all runs of this process; nil means that this is the only run.
	Memory *Budget
	// CountSince is the time from which samples count towards Totals. If it is zero, all samples in the agents' logs
	// count.
	CountSince time.Time
}

// tools returns the programs that the clients of a target need.
func (o *Options) tools(target string) []string {
	if o.Tools == nil {
		return fio.Traits.Tools
	}
	return o.Tools(target)
}

// Conductor drives the agents of one run.
type Conductor struct {
	options Options
	// Reference is the conductor's clock. All instants that the conductor accepts and returns are times of this clock.
	Reference Reference

	// ctx limits the lifetime of the connections. Close cancels it.
	ctx     context.Context
	cancel  context.CancelFunc
	workers sync.WaitGroup
	changed chan struct{}
	// gathering is true while a notification about new figures is pending; see gather.
	gathering atomic.Bool

	mu      sync.Mutex
	closed  bool
	clients map[decide.ClientKey]*client
	keys    []decide.ClientKey

	requested *requested
	budget    *Budget
	// working limits the memory for computing the result of a step of this run.
	working   *Budget
	latencies latencies
	totals    totals
}

// New returns a conductor without clients. Call Close when the conductor is no longer needed.
func New(options Options) *Conductor {
	ctx, cancel := context.WithCancel(context.Background())
	memory := options.Memory
	if memory == nil {
		memory = ProcessBudget()
	}
	return &Conductor{
		options:   options,
		Reference: NewReference(),
		ctx:       ctx,
		cancel:    cancel,
		changed:   make(chan struct{}, 1),
		clients:   map[decide.ClientKey]*client{},
		requested: newRequested(options.Steps, options.Records),
		budget:    memory.ofRun(),
		working:   memory.forResults(),
	}
}

// Close closes all connections. The agents keep running.
func (c *Conductor) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.workers.Wait()
	c.budget.detach()
}

// run calls work in the background, unless the conductor is closed.
func (c *Conductor) run(work func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.workers.Go(work)
	}
}

// Changed returns a channel that receives a value when the result of Clients may have changed. If only the figures of
// running steps have changed, the value is sent after a short delay (see gather).
func (c *Conductor) Changed() <-chan struct{} { return c.changed }

func (c *Conductor) notify() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// gather is the delay between the arrival of new figures and the notification about them. All clients of a step start
// at the same instant, so their samples arrive together, once per second, and one notification can cover them all.
const gather = 500 * time.Millisecond

// notifySoon calls notify after the delay gather, so that one notification covers the figures of all clients.
func (c *Conductor) notifySoon() {
	if c.gathering.CompareAndSwap(false, true) {
		time.AfterFunc(gather, func() {
			c.gathering.Store(false)
			c.notify()
		})
	}
}

// Agent is the current or expected agent of a client.
type Agent struct{ client *client }

// Connect connects to the agent; the key in endpoint is ignored. Call it at most once.
func (a *Agent) Connect(endpoint Endpoint) {
	a.client.owner.run(func() { a.client.follow(endpoint) })
}

// Lose marks this agent as lost; call it when the agent's process or pod has ended. The agent's reports are kept. If
// the agent has already been replaced, the call does not affect its replacement.
func (a *Agent) Lose(message string) { a.client.lose(message) }

// Expect adds an agent whose address is not known yet. Until Connect is called, the agent counts as Connecting, without
// using a connection or a goroutine. If the key is already known, the agent is a replacement; add it only when the
// previous agent is certainly gone. If the key is new, replacements is the number of times that the client was replaced
// before this conductor was created.
func (c *Conductor) Expect(key decide.ClientKey, replacements int) *Agent {
	c.mu.Lock()
	old := c.clients[key]
	if old != nil {
		replacements = old.replacements + 1
	} else {
		c.keys = append(c.keys, key)
	}
	added := newClient(c, key, replacements)
	c.clients[key] = added
	c.mu.Unlock()
	if old != nil {
		old.replace()
	}
	c.notify()
	return &Agent{added}
}

// Connect adds an agent and connects to it.
func (c *Conductor) Connect(endpoint Endpoint) (lose func(message string)) {
	agent := c.Expect(endpoint.Key, endpoint.Replacements)
	agent.Connect(endpoint)
	return agent.Lose
}

// Clients returns the current state of each client, in the order in which the clients were first added. decide.Next
// receives these states as part of its snapshot.
func (c *Conductor) Clients() []decide.Client {
	var all []decide.Client
	for _, client := range c.all() {
		all = append(all, client.facts())
	}
	return all
}

// Unreachable lists the ready clients whose agents currently do not answer.
func (c *Conductor) Unreachable() []decide.ClientKey {
	var keys []decide.ClientKey
	for _, client := range c.all() {
		client.mu.Lock()
		if client.unreachable && client.connection == decide.Ready {
			keys = append(keys, client.key)
		}
		client.mu.Unlock()
	}
	return keys
}

// Results returns the clients' reports about an attempt so far.
func (c *Conductor) Results(attempt decide.Attempt) []result.Client {
	var all []result.Client
	for _, client := range c.all() {
		if clientAttempt, known := client.result(attempt); known {
			all = append(all, clientAttempt)
		}
	}
	return all
}

// Forget drops the records of an attempt. Call it once the result of the attempt is recorded.
func (c *Conductor) Forget(attempt decide.Attempt) {
	c.requested.record(attempt)
	for _, client := range c.all() {
		client.forget(attempt)
	}
	c.latencies.forget(attempt)
}

func (c *Conductor) client(key decide.ClientKey) *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.clients[key]
}

func (c *Conductor) all() []*client {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*client
	for _, key := range c.keys {
		all = append(all, c.clients[key])
	}
	return all
}
