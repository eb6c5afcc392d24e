package conductor

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/result"
)

// Endpoint is where an agent is reached.
type Endpoint struct {
	Key decide.ClientKey
	// Locate waits for the agent's host and port to be known.
	Locate func(context.Context) (string, error)
	// TLS proves who we are and accepts that very client only.
	TLS *tls.Config
	// Dial opens a connection to it; nil for TCP.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Replacements is how often this client was replaced before this conductor knew of it.
	Replacements int
}

// Options are the settings of a conductor.
type Options struct {
	RunUID string
	// Epoch of the leader; agents refuse a lower one than they have seen.
	Epoch uint64
	// Tools are the programs that the clients of each target need, see plan.Plan.Tools. Nil for fio alone,
	// which need not be told of.
	Tools func(target string) []string
	// LossTimeout is how long an agent that was ready may be out of reach.
	LossTimeout time.Duration
	// CountSince keeps what was done before it out of Totals; zero counts all that agents remember.
	CountSince time.Time
}

// tools of a target.
func (o *Options) tools(target string) []string {
	if o.Tools == nil {
		return []string{string(v1alpha1.EngineFio)}
	}
	return o.Tools(target)
}

// Conductor drives the agents of one run.
type Conductor struct {
	options Options
	// Reference is the clock in which all instants are given and returned.
	Reference Reference

	ctx     context.Context // The life of the connections, ended by Close.
	cancel  context.CancelFunc
	workers sync.WaitGroup
	changed chan struct{}

	mu      sync.Mutex
	closed  bool
	clients map[decide.ClientKey]*client
	keys    []decide.ClientKey

	latencies latencies
	totals    totals
}

// New makes a conductor without clients; Close ends it.
func New(options Options) *Conductor {
	ctx, cancel := context.WithCancel(context.Background())
	return &Conductor{
		options:   options,
		Reference: NewReference(),
		ctx:       ctx,
		cancel:    cancel,
		changed:   make(chan struct{}, 1),
		clients:   map[decide.ClientKey]*client{},
	}
}

// Close hangs up. The agents go on by themselves.
func (c *Conductor) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.workers.Wait()
}

// run does something in the background, unless the conductor is closed.
func (c *Conductor) run(work func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.workers.Go(work)
	}
}

// Changed gets a value when Clients may answer otherwise than before.
func (c *Conductor) Changed() <-chan struct{} { return c.changed }

func (c *Conductor) notify() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Connect reaches out to an agent. For a key that was connected before it is a replacement, which
// is to be made only when the one before is really gone.
//
// lose says that this very agent is gone, by somebody who knows (its process or pod has ended).
// What it reported before is kept. It has no effect on a replacement, whenever it is called.
func (c *Conductor) Connect(endpoint Endpoint) (lose func(message string)) {
	c.mu.Lock()
	replacements := endpoint.Replacements
	if old := c.clients[endpoint.Key]; old != nil {
		replacements = old.replacements + 1
		old.cancel()
	} else {
		c.keys = append(c.keys, endpoint.Key)
	}
	added := newClient(c, endpoint, replacements)
	c.clients[endpoint.Key] = added
	c.mu.Unlock()
	c.run(added.follow)
	c.notify()
	return added.lose
}

// Clients are the facts for a decision, in the order in which they were first connected.
func (c *Conductor) Clients() []decide.Client {
	var all []decide.Client
	for _, client := range c.all() {
		all = append(all, client.facts())
	}
	return all
}

// Results are the parts of an attempt that the clients have reported so far.
func (c *Conductor) Results(attempt decide.Attempt) []result.Client {
	var all []result.Client
	for _, client := range c.all() {
		if part, known := client.result(attempt); known {
			all = append(all, part)
		}
	}
	return all
}

// Forget drops the records of an attempt once they are written down elsewhere.
func (c *Conductor) Forget(attempt decide.Attempt) {
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
