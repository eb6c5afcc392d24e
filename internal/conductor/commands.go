package conductor

import (
	"context"
	"regexp"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
)

const (
	// commandTimeout bounds one command; loading a step creates directories on slow file systems.
	commandTimeout = 2 * time.Minute
	// finishTimeout is longer than an agent takes to remove its data.
	finishTimeout = 10 * time.Minute
)

// each runs a command on the given clients, in the background.
func (c *Conductor) each(timeout time.Duration, keys []decide.ClientKey, command func(context.Context, *client)) {
	for _, client := range c.all() {
		if !slices.Contains(keys, client.endpoint.Key) {
			continue
		}
		c.run(func() {
			ctx, cancel := context.WithTimeout(client.ctx, timeout)
			defer cancel()
			command(ctx, client)
			c.notify()
		})
	}
}

// Load sends an attempt to clients. The request is made anew for each by request, which gets its
// key; step and epoch are filled in here.
func (c *Conductor) Load(attempt decide.Attempt, keys []decide.ClientKey, request func(decide.ClientKey) *agentapi.LoadRequest) {
	for _, key := range keys {
		if client := c.client(key); client != nil {
			client.progress(attempt, decide.Loading)
		}
	}
	c.each(commandTimeout, keys, func(ctx context.Context, client *client) {
		load := request(client.endpoint.Key)
		load.Epoch = c.options.Epoch
		load.Step = stepKey(attempt)
		client.loaded(ctx, attempt, client.load(ctx, load))
	})
}

func (c *client) load(ctx context.Context, load *agentapi.LoadRequest) error {
	api, err := c.service()
	if err == nil {
		_, err = api.Load(ctx, load)
	}
	return err
}

// loaded notes the answer to a Load. Where there was none the attempt is forgotten, to be sent
// again, or the client is lost meanwhile.
func (c *client) loaded(ctx context.Context, attempt decide.Attempt, err error) {
	switch status.Code(err) {
	case codes.OK:
		c.progress(attempt, decide.Loaded)
		return
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		select {
		case <-time.After(retryInterval):
		case <-ctx.Done():
		}
		c.unload(attempt)
		return
	default:
	}
	reason := reasonOf(err)
	if reason == agentapi.ReasonSuperseded {
		c.unload(attempt)
		c.unfit(reason, status.Convert(err).Message())
		return
	}
	if reason = word(reason, "LoadFailed"); reason == "" {
		reason = "LoadFailed"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.part(attempt)
	p.failed = &decide.Failure{Reason: reason, Message: clean(status.Convert(err).Message(), maxMessageLength)}
	p.failedSince = c.owner.Reference.Now()
	c.advance(attempt, decide.Refused)
}

// unload forgets an attempt of which no more is known than that it was sent.
func (c *client) unload(attempt decide.Attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.attempts[attempt]; p != nil && p.progress == decide.Loading {
		c.kept -= p.kept
		delete(c.attempts, attempt)
	}
}

// Start sends the common start instant and the deadline, each in the agent's own clock.
func (c *Conductor) Start(attempt decide.Attempt, keys []decide.ClientKey, start, deadline time.Time) {
	c.each(commandTimeout, keys, func(ctx context.Context, client *client) {
		api, err := client.service()
		if err != nil {
			return
		}
		_, err = api.Start(ctx, &agentapi.StartRequest{
			Epoch:               c.options.Epoch,
			Step:                stepKey(attempt),
			AtNanoseconds:       client.remote(start),
			DeadlineNanoseconds: client.remote(deadline),
		})
		switch {
		case err == nil:
			client.progress(attempt, decide.Running)
		case status.Code(err) == codes.NotFound:
			// It said that it was loaded; an agent that forgets is not the one that said so.
			client.lose("its agent does not know a step any more that it had loaded: " + status.Convert(err).Message())
		}
	})
}

// Stop ends the load of an attempt. Its end comes by the log.
func (c *Conductor) Stop(attempt decide.Attempt, keys []decide.ClientKey, reason string) {
	c.each(commandTimeout, keys, func(ctx context.Context, client *client) {
		if api, err := client.service(); err == nil {
			// An agent that cannot be told will be asked again, or be lost.
			_, _ = api.Stop(ctx, &agentapi.StopRequest{
				Epoch: c.options.Epoch, Step: stepKey(attempt), Reason: reason})
		}
	})
}

// FinishOptions say what data goes with the clients.
type FinishOptions struct {
	// RemoveData removes each client's own.
	RemoveData bool
	// AlsoRemove names lost clients of the same target whose data a client removes with its own, by
	// their indexes, where they shared its volumes; nil names none. It counts with RemoveData only.
	AlsoRemove func(decide.ClientKey) []int
	// Left says what a client removes of what was there before the run; nil is nothing.
	Left func(decide.ClientKey) Left
}

// Left is what a client removes of what others and earlier runs have left on its volumes.
type Left struct {
	// Gone are benchmarks that are gone, by UID.
	Gone []string
	// Clients is how many the target has: earlier data sets of the run's own benchmark go, and clients from this number
	// on. 0 leaves them.
	Clients int
}

// Finish tells clients to tidy up and leave. done gets each one's answer.
func (c *Conductor) Finish(keys []decide.ClientKey, options FinishOptions, done func(decide.ClientKey, *agentapi.FinishResponse)) {
	c.each(finishTimeout, keys, func(ctx context.Context, client *client) {
		if client.describe() == nil {
			// It was never reached, so it has done nothing; whoever started it ends it.
			client.lose("never reached")
			return
		}
		api, err := client.service()
		if err != nil {
			return
		}
		// There is only this one try, so it waits for a connection that is just broken.
		answer, err := api.Finish(ctx, c.finishRequest(client.endpoint.Key, options), grpc.WaitForReady(true))
		if err != nil {
			client.lose("no answer to Finish: " + status.Convert(err).Message())
			return
		}
		done(client.endpoint.Key, &agentapi.FinishResponse{
			DataRemoved: answer.GetDataRemoved(), Problem: clean(answer.GetProblem(), maxMessageLength),
			LeftRemoved: max(0, answer.GetLeftRemoved()), LeftStays: cleanAll(answer.GetLeftStays())})
		client.leave(decide.Finished, "", "")
	})
}

func (c *Conductor) finishRequest(key decide.ClientKey, options FinishOptions) *agentapi.FinishRequest {
	request := &agentapi.FinishRequest{Epoch: c.options.Epoch, RemoveData: options.RemoveData}
	if options.RemoveData && options.AlsoRemove != nil {
		for _, index := range options.AlsoRemove(key) {
			request.RemoveClients = append(request.RemoveClients, int32(index)) //nolint:gosec // The API allows far fewer clients.
		}
	}
	if options.Left != nil {
		left := options.Left(key)
		request.GoneBenchmarks, request.Clients = left.Gone, int32(left.Clients) //nolint:gosec // The API allows far fewer clients.
	}
	return request
}

// maxLeftStays of an agent's words on what it has left alone are taken.
const maxLeftStays = 16

func cleanAll(texts []string) []string {
	var all []string
	for _, text := range texts[:min(len(texts), maxLeftStays)] {
		all = append(all, clean(text, maxMessageLength))
	}
	return all
}

// uidText is what may be a benchmark's UID.
var uidText = regexp.MustCompile(`^[A-Za-z0-9-]{1,63}$`)

// Owners are other benchmarks of the same installation that have directories on volumes of the clients, by UID.
func (c *Conductor) Owners() []string {
	var all []string
	for _, client := range c.all() {
		for _, volume := range client.describe().GetVolumes() {
			for _, uid := range volume.GetOwners() {
				if uidText.MatchString(uid) {
					all = append(all, uid)
				}
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxOwners)]
}

// maxOwners of all volumes are asked about at once.
const maxOwners = 256

func stepKey(attempt decide.Attempt) *agentapi.StepKey {
	return &agentapi.StepKey{Id: attempt.Step, Attempt: uint32(attempt.Number)} //nolint:gosec // Attempts are few.
}

func attemptOf(key *agentapi.StepKey) decide.Attempt {
	return decide.Attempt{Step: key.GetId(), Number: int(key.GetAttempt())}
}
