package conductor_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
)

func TestTwoClientsRunAStep(t *testing.T) {
	t.Parallel()
	c := conduct(t, 1, time.Hour)
	for index := range 2 {
		c.Connect(endpoint(t, index, agentAt(t, index)))
	}
	before := c.Reference.Now()
	begin(t, c, first, 0, 1)
	await(t, c, 0, "showing a rate", func(decide.Client) bool { bytes, iops := c.Rate(first); return bytes > 0 && iops > 0 })
	for index := range 2 {
		grows(t, c, first, index, 5)
	}
	end(t, c, first, 0, 1)
	for index := range 2 {
		client := clientAttempt(t, c, first, index)
		seamless(t, client)
		if client.Released.Before(before) || client.IOStart.Before(client.Released) || !client.IOEnd.After(client.IOStart) || client.IOEnd.After(c.Reference.Now()) {
			t.Errorf("released at %s, I/O from %s to %s", client.Released, client.IOStart, client.IOEnd)
		}
		if client.ClockUncertainty <= 0 || client.Machine == "" {
			t.Errorf("clock known to %s, machine %q", client.ClockUncertainty, client.Machine)
		}
	}
	if bytes, iops := c.Rate(first); bytes != 0 || iops != 0 {
		t.Errorf("after its end it does %g bytes and %g operations a second", bytes, iops)
	}
	if environments := c.Environments(); len(environments) == 0 || environments[0].ToolVersion == "" {
		t.Errorf("environments %+v", environments)
	}
	c.Forget(first)
	if left := c.Results(first); len(left) != 0 {
		t.Errorf("what is forgotten: %v", left)
	}
	answers := make(chan *agentapi.FinishResponse, 2)
	c.Finish([]decide.ClientKey{clientKey(0), clientKey(1)}, conductor.FinishOptions{RemoveData: true}, func(_ decide.ClientKey, answer *agentapi.FinishResponse) { answers <- answer })
	for index := range 2 {
		await(t, c, index, "finished", is(decide.Finished))
		if answer := <-answers; !answer.GetDataRemoved() {
			t.Errorf("got %v", answer)
		}
	}
}

// TestAnotherConductorTakesOver checks that a new conductor can take over in the middle of a step. No record of the
// step is lost or duplicated, and the agent refuses the old conductor.
func TestAnotherConductorTakesOver(t *testing.T) {
	t.Parallel()
	address := agentAt(t, 0)
	old := conduct(t, 1, time.Hour)
	old.Connect(endpoint(t, 0, address))
	begin(t, old, first, 0)
	grows(t, old, first, 0, 5)
	dead := conduct(t, 2, time.Hour)
	dead.Connect(endpoint(t, 0, address))
	await(t, dead, 0, "running, as the next conductor sees it", has(first, decide.Running))
	dead.Close()
	superseded := await(t, old, 0, "refused", is(decide.Unfit))
	if superseded.Reason != "Superseded" {
		t.Errorf("the old conductor got %s: %s", superseded.Reason, superseded.Message)
	}

	heir := conduct(t, 3, time.Hour)
	heir.Connect(endpoint(t, 0, address))
	// A client is ready only once its whole log is read, so repeated commands change nothing.
	await(t, heir, 0, "ready", is(decide.Ready))
	if seen := len(samplesOf(clientAttempt(t, heir, first, 0))); seen < 5 {
		t.Errorf("it is ready with %d samples", seen)
	}
	end(t, heir, first, 0)
	seamless(t, clientAttempt(t, heir, first, 0))

	// A conductor that starts after the end of the step reads the same records and never considers the step running.
	late := conduct(t, 3, time.Hour)
	late.Connect(endpoint(t, 0, address))
	ready := await(t, late, 0, "ready", is(decide.Ready))
	if got := ready.Attempts[first].Progress; got != decide.Ended {
		t.Errorf("the step is %s when the client is ready", got)
	}
	seamless(t, clientAttempt(t, late, first, 0))
	want := clientAttempt(t, heir, first, 0)
	if got := clientAttempt(t, late, first, 0); len(samplesOf(got)) != len(samplesOf(want)) || got.Operations[measure.Write].Counter != want.Operations[measure.Write].Counter {
		t.Errorf("it has %d samples, the other %d", len(samplesOf(got)), len(samplesOf(want)))
	}
}

// TestInheritedAttempt checks that a conductor marks loaded attempts that another conductor has sent as inherited.
func TestInheritedAttempt(t *testing.T) {
	t.Parallel()
	address := agentAt(t, 0)
	old, heir := conduct(t, 1, time.Hour), conduct(t, 2, time.Hour)
	old.Connect(endpoint(t, 0, address))
	await(t, old, 0, "ready", is(decide.Ready))
	old.Load(first, []decide.ClientKey{clientKey(0)}, load)
	if own := await(t, old, 0, "loaded", has(first, decide.Loaded)); own.Attempts[first].Inherited {
		t.Errorf("its own attempt: %+v", own.Attempts)
	}
	heir.Connect(endpoint(t, 0, address))
	if found := await(t, heir, 0, "ready", is(decide.Ready)); !found.Attempts[first].Inherited {
		t.Errorf("the attempt of the other conductor: %+v", found.Attempts)
	}
}

// TestConnectionBreaks checks that a client stays ready and loses no samples if its connection breaks several times
// during a step.
func TestConnectionBreaks(t *testing.T) {
	t.Parallel()
	w := newWire(t, agentAt(t, 0))
	c := conduct(t, 1, time.Hour)
	c.Connect(endpoint(t, 0, w.address))
	begin(t, c, first, 0)
	for range 3 {
		grows(t, c, first, 0, 2)
		w.cut()
		w.noticed(t)
		if facts := c.Clients()[0]; facts.Connection != decide.Ready {
			t.Errorf("the client is %s right after the cut: %s", facts.Connection, facts.Message)
		}
		w.mend()
	}
	grows(t, c, first, 0, 2)
	end(t, c, first, 0)
	seamless(t, clientAttempt(t, c, first, 0))

	// A forgotten attempt does not return when the connection is restored.
	c.Forget(first)
	w.cut()
	w.mend()
	second := decide.Attempt{Step: "01-write", Number: 1}
	begin(t, c, second, 0)
	c.Stop(second, []decide.ClientKey{clientKey(0)}, "enough")
	facts := await(t, c, 0, "ended", has(second, decide.Ended))
	if _, known := facts.Attempts[first]; known {
		t.Errorf("the first attempt is back: %+v", facts.Attempts)
	}
}

// TestClientIsLost checks that a client survives a short interruption of its connection and is lost after a long one.
// TestLossTimeout checks the exact limit.
func TestClientIsLost(t *testing.T) {
	t.Parallel()
	told := watched{agentOf(t, 0), make(chan struct{}, 100)}
	w := newWire(t, serve(t, 0, told))
	c := conduct(t, 1, time.Hour)
	c.Connect(endpoint(t, 0, w.address))
	await(t, c, 0, "ready", is(decide.Ready))
	<-told.begun
	w.cut()
	w.mend()
	<-told.begun
	if facts := c.Clients()[0]; facts.Connection != decide.Ready {
		t.Fatalf("after a short break it is %s: %s", facts.Connection, facts.Message)
	}

	impatient := conduct(t, 2, time.Nanosecond)
	impatient.Connect(endpoint(t, 0, w.address))
	await(t, impatient, 0, "ready", is(decide.Ready))
	w.cut()
	if lost := await(t, impatient, 0, "lost", is(decide.Lost)); lost.Reason != "ClientLost" {
		t.Errorf("lost: %s %s", lost.Reason, lost.Message)
	}
	w.mend()
	impatient.Load(first, []decide.ClientKey{clientKey(0)}, load)
	if facts := impatient.Clients()[0]; facts.Connection != decide.Lost || facts.Attempts[first].Progress == decide.Loaded {
		t.Errorf("it came back: %+v", facts)
	}
}

// watched is an agent that signals when a conductor starts to read its log.
type watched struct {
	*agent.Agent
	begun chan struct{}
}

func (w watched) Watch(request *agentapi.WatchRequest, stream grpc.ServerStreamingServer[agentapi.Record]) error {
	w.begun <- struct{}{}
	return w.Agent.Watch(request, stream)
}

// TestClientIsReplaced checks that a late loss of a replaced agent does not affect its replacement.
func TestClientIsReplaced(t *testing.T) {
	t.Parallel()
	c := conduct(t, 1, time.Hour)
	lose := c.Connect(endpoint(t, 0, agentAt(t, 0)))
	await(t, c, 0, "ready", is(decide.Ready))
	lose("its process exited")
	if facts := await(t, c, 0, "lost", is(decide.Lost)); facts.Message != "its process exited" {
		t.Errorf("lost: %s", facts.Message)
	}
	c.Connect(endpoint(t, 0, agentAt(t, 0)))
	facts := await(t, c, 0, "ready again", is(decide.Ready))
	if facts.Replacements != 1 {
		t.Errorf("it was replaced %d times", facts.Replacements)
	}
	lose("its process exited, this time really")
	begin(t, c, first, 0)
	grows(t, c, first, 0, 5)
	end(t, c, first, 0)
	seamless(t, clientAttempt(t, c, first, 0))
}

// TestNeverReached checks that commands do not hang if the agent was never reached, if it is located too late, or if
// the conductor is closed in between.
func TestNeverReached(t *testing.T) {
	t.Parallel()
	c := conduct(t, 1, time.Hour)
	waiting := endpoint(t, 0, "")
	waiting.Locate = func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	failing := endpoint(t, 1, "")
	failing.Locate = func(context.Context) (string, error) { return "", errors.New("it did not start") }
	refusing := endpoint(t, 2, "127.0.0.1:1")
	for _, one := range []conductor.Endpoint{waiting, failing, refusing} {
		c.Connect(one)
	}
	if facts := await(t, c, 1, "lost", is(decide.Lost)); facts.Message != "it did not start" {
		t.Errorf("got %q", facts.Message)
	}
	await(t, c, 2, "refused", func(c decide.Client) bool { return c.Message != "" && c.Message != "not connected yet" })
	keys := []decide.ClientKey{clientKey(0), clientKey(2)}
	c.Load(first, keys, load)
	c.Start(first, keys, c.Reference.Now(), c.Reference.Now().Add(time.Second))
	c.Stop(first, keys, "no reason")
	await(t, c, 0, "rid of the attempt", has(first, ""))
	c.Finish(keys, conductor.FinishOptions{RemoveData: true}, func(decide.ClientKey, *agentapi.FinishResponse) { t.Error("it finished") })
	await(t, c, 0, "lost", is(decide.Lost))
	await(t, c, 2, "lost", is(decide.Lost))
	c.Close()
	c.Connect(endpoint(t, 3, "127.0.0.1:1")) // no effect after Close
	c.Stop(first, keys, "too late")
}

// TestFinishWaitsForTheConnection checks that Finish waits while the connection is broken.
func TestFinishWaitsForTheConnection(t *testing.T) {
	t.Parallel()
	w := newWire(t, agentAt(t, 0))
	c := conduct(t, 1, time.Hour)
	c.Connect(endpoint(t, 0, w.address))
	await(t, c, 0, "ready", is(decide.Ready))
	w.cut()
	// Without this wait, Finish could be sent on the old connection and get no answer.
	w.noticed(t)
	c.Finish([]decide.ClientKey{clientKey(0)}, conductor.FinishOptions{RemoveData: true}, func(decide.ClientKey, *agentapi.FinishResponse) {})
	w.mend()
	await(t, c, 0, "finished", is(decide.Finished))
}

// TestRequestsAreBuiltOneAtATime checks that load requests are built one after the other, so that only one large
// request is in memory.
func TestRequestsAreBuiltOneAtATime(t *testing.T) {
	t.Parallel()
	c := conduct(t, 1, time.Hour)
	var keys []decide.ClientKey
	for index := range 8 {
		described := good()
		described.Client = int32(index)
		c.Connect(endpoint(t, index, serve(t, index, &fake{describe: described})))
		await(t, c, index, "ready", is(decide.Ready))
		keys = append(keys, clientKey(index))
	}
	var building atomic.Int32
	c.Load(first, keys, func(key decide.ClientKey) *agentapi.LoadRequest {
		if building.Add(1) > 1 {
			t.Errorf("the request of %s is built while another one is", key)
		}
		defer building.Add(-1)
		time.Sleep(10 * time.Millisecond)
		return load(key)
	})
	for index := range keys {
		await(t, c, index, "loaded", has(first, decide.Loaded))
	}
}

func TestRefusedLoad(t *testing.T) {
	t.Parallel()
	c := conduct(t, 1, time.Hour)
	c.Connect(endpoint(t, 0, agentAt(t, 0)))
	await(t, c, 0, "ready", is(decide.Ready))
	c.Load(first, []decide.ClientKey{clientKey(0)}, func(decide.ClientKey) *agentapi.LoadRequest {
		request := load(decide.ClientKey{})
		request.Dataset = &agentapi.Dataset{NewBytes: 1 << 60}
		return request
	})
	facts := await(t, c, 0, "refused", has(first, decide.Refused))
	if failed := facts.Attempts[first].Failed; failed == nil || failed.Reason != "NoSpace" || failed.Message == "" {
		t.Errorf("got %+v", failed)
	}
}
