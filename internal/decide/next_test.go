package decide_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/internal/decide"
)

// TestStartIsSentAgainUnchanged checks that a new conductor sends an already recorded start to the clients that did not
// get it, with the same start time, even if that has passed. The client decides whether it is too late.
func TestStartIsSentAgainUnchanged(t *testing.T) {
	w := newWorld(1, 2, steps()...)
	begin := w.now.Add(10 * time.Second)
	w.snapshot.Records["00-layout"] = decide.Record{Attempt: 1, Start: begin, Deadline: begin.Add(time.Minute)}
	attempt := decide.Attempt{Step: "00-layout", Number: 1}
	for i, progress := range []decide.Progress{decide.Running, decide.Loaded} {
		w.clients[i].Connection = decide.Ready
		w.clients[i].Attempts[attempt] = decide.ClientStep{Progress: progress}
		w.snapshot.Clients = append(w.snapshot.Clients, *w.clients[i])
	}
	got := decide.Next(w.snapshot, w.now.Add(30*time.Second))
	want := decide.Action{Kind: decide.Start, Attempt: attempt, Clients: []decide.ClientKey{key(1)},
		Start: begin, Deadline: begin.Add(time.Minute)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
}

// TestMissedStart checks that a step is repeated up to four times because a client received the start too late, and
// that the run fails the next time.
func TestMissedStart(t *testing.T) {
	missed := &decide.Failure{Reason: decide.ReasonStartMissed, Message: "the order came 1s late"}
	broken := &decide.Failure{Reason: "NoSpace", Message: "the disk is full"}
	for name, c := range map[string]struct {
		attempt       int
		first, second decide.ClientStep
		want          decide.Kind
		of            int
	}{
		"the others are stopped":     {1, decide.ClientStep{Progress: decide.Running}, decide.ClientStep{Progress: decide.Ended, Failed: missed}, decide.Stop, 1},
		"once":                       {1, decide.ClientStep{Progress: decide.Ended}, decide.ClientStep{Progress: decide.Ended, Failed: missed}, decide.Retry, 2},
		"the fourth time":            {4, decide.ClientStep{Progress: decide.Ended}, decide.ClientStep{Progress: decide.Ended, Failed: missed}, decide.Retry, 5},
		"the fifth time it fails":    {5, decide.ClientStep{Progress: decide.Ended}, decide.ClientStep{Progress: decide.Ended, Failed: missed}, decide.Fail, 5},
		"another has a real failure": {1, decide.ClientStep{Progress: decide.Ended, Failed: broken}, decide.ClientStep{Progress: decide.Ended, Failed: missed}, decide.Fail, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, 2, steps()...)
			w.snapshot.Records["00-layout"] = decide.Record{Attempt: c.attempt, Start: w.now, Deadline: w.now.Add(time.Minute)}
			for i, part := range []decide.ClientStep{c.first, c.second} {
				w.clients[i].Connection = decide.Ready
				w.clients[i].Attempts[decide.Attempt{Step: "00-layout", Number: c.attempt}] = part
				w.snapshot.Clients = append(w.snapshot.Clients, *w.clients[i])
			}
			got := decide.Next(w.snapshot, w.now.Add(time.Second))
			if got.Kind != c.want || got.Attempt.Number != c.of {
				t.Errorf("%s %s, want %s of attempt %d", got.Kind, got.Attempt, c.want, c.of)
			}
		})
	}
}

// TestLaterStartsAreFartherOff checks that the time between a start command and the start grows with each attempt, up
// to 16 s.
func TestLaterStartsAreFartherOff(t *testing.T) {
	for attempt, want := range map[int]time.Duration{1: lead, 2: 4 * lead, 3: 16 * lead, 5: 16 * time.Second, 9: 16 * time.Second} {
		w := newWorld(1, 1, steps()...)
		w.snapshot.Records["00-layout"] = decide.Record{Attempt: attempt}
		w.clients[0].Connection = decide.Ready
		w.clients[0].Attempts[decide.Attempt{Step: "00-layout", Number: attempt}] = decide.ClientStep{Progress: decide.Loaded}
		w.snapshot.Clients = []decide.Client{*w.clients[0]}
		got := decide.Next(w.snapshot, w.now)
		if got.Kind != decide.Start || got.Start.Sub(w.now) != want || got.Deadline.Sub(got.Start) != steps()[0].Limit {
			t.Errorf("attempt %d: %s in %s, want %s", attempt, got.Kind, got.Start.Sub(w.now), want)
		}
	}
}

// TestLeftAttemptIsStopped checks that clients that have an earlier attempt loaded or running are stopped before the
// step is loaded again.
func TestLeftAttemptIsStopped(t *testing.T) {
	w := newWorld(1, 2, steps()...)
	w.snapshot.Records["00-layout"] = decide.Record{Attempt: 2}
	old := decide.Attempt{Step: "00-layout", Number: 1}
	for i, progress := range []decide.Progress{decide.Running, decide.Loaded} {
		w.clients[i].Connection = decide.Ready
		w.clients[i].Attempts[old] = decide.ClientStep{Progress: progress}
		w.snapshot.Clients = append(w.snapshot.Clients, *w.clients[i])
	}
	want := decide.Action{Kind: decide.Stop, Attempt: old, Clients: []decide.ClientKey{key(1), key(0)}}
	if diff := cmp.Diff(want, decide.Next(w.snapshot, w.now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cancelled := w.snapshot
	cancelled.Cancel, cancelled.EndingSince = &decide.Failure{Reason: "Stopped"}, w.now
	want.Until = w.now.Add(w.snapshot.Policy.StopGrace)
	if diff := cmp.Diff(want, decide.Next(cancelled, w.now)); diff != "" {
		t.Errorf("when the run was ended meanwhile (-want +got):\n%s", diff)
	}
	for _, client := range w.clients {
		client.Attempts[old] = decide.ClientStep{Progress: decide.Ended}
	}
	want = decide.Action{Kind: decide.Load, Attempt: decide.Attempt{Step: "00-layout", Number: 2}, Clients: []decide.ClientKey{key(0), key(1)}}
	if diff := cmp.Diff(want, decide.Next(w.snapshot, w.now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAttemptOfAnotherStepIsStopped checks that clients that still run another step, even the first one, are stopped
// before a step is repeated. A step that the plan does not have is ignored.
func TestAttemptOfAnotherStepIsStopped(t *testing.T) {
	for _, other := range []string{"00-layout", "02-read", "99-unknown"} {
		w := newWorld(1, 2, append(steps(), decide.Step{ID: "02-read", Targets: []string{"a"}, Limit: time.Minute})...)
		w.snapshot.Records["00-layout"] = decide.Record{Attempt: 1, Done: true}
		w.snapshot.Records["01-write"] = decide.Record{Attempt: 2}
		running := decide.Attempt{Step: other, Number: 1}
		for _, client := range w.clients {
			client.Connection = decide.Ready
		}
		w.clients[1].Attempts[running] = decide.ClientStep{Progress: decide.Running}
		w.snapshot.Clients = w.seen()
		want := decide.Action{Kind: decide.Stop, Attempt: running, Clients: []decide.ClientKey{key(1)}}
		if other == "99-unknown" {
			want = decide.Action{Kind: decide.Load, Attempt: decide.Attempt{Step: "01-write", Number: 2}, Clients: []decide.ClientKey{key(0), key(1)}}
		}
		if diff := cmp.Diff(want, decide.Next(w.snapshot, w.now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", other, diff)
		}
	}
}

// TestTakeoverAwaitsTheEnd checks that a conductor that takes over while clients remove their data gives them the full
// FinishTimeout again.
func TestTakeoverAwaitsTheEnd(t *testing.T) {
	w := newWorld(1, 1)
	w.snapshot.FinishSent, w.snapshot.ConductedSince = w.now.Add(-time.Hour), w.now
	w.snapshot.Clients = w.seen()
	until := w.now.Add(w.snapshot.Policy.FinishTimeout)
	if got := decide.Next(w.snapshot, w.now); got.Kind != decide.Wait || !got.Until.Equal(until) {
		t.Errorf("%s until %s, want to wait until %s", got, got.Until, until)
	}
	if got := decide.Next(w.snapshot, until); got.Kind != decide.Done {
		t.Errorf("%s after that, want Done", got)
	}
}

// TestTakeoverOfAnOverdueRun checks that a conductor that takes over after the run's deadline gets the full StopGrace
// to read the clients' logs. Without a takeover, an overdue run waits only 20 s for tools to stop.
func TestTakeoverOfAnOverdueRun(t *testing.T) {
	w := newWorld(1, 1, steps()...)
	w.snapshot.Records["00-layout"] = decide.Record{Attempt: 1, Start: w.now.Add(-time.Hour), Deadline: w.now}
	w.snapshot.Failure, w.snapshot.EndingSince = &decide.Failure{Reason: decide.ReasonDeadline}, w.now
	w.snapshot.Clients = w.seen()
	grace := w.snapshot.Policy.StopGrace
	for since, want := range map[time.Time]time.Time{
		w.now.Add(-2 * time.Hour): w.now.Add(20 * time.Second), w.now: w.now.Add(grace),
	} {
		w.snapshot.ConductedSince = since
		if got := decide.Next(w.snapshot, w.now); got.Kind != decide.Wait || !got.Until.Equal(want) {
			t.Errorf("conducted since %s: %s until %s, want to wait until %s", since, got, got.Until, want)
		}
		if got := decide.Next(w.snapshot, want); got.Kind != decide.Finish {
			t.Errorf("conducted since %s: %s after that, want Finish", since, got)
		}
	}
}

// TestTakeoverAfterAConclusion checks that a conductor that takes over long after a step was concluded stops the
// clients that still run it, because its predecessor may have died before it did so. It stops them even before it has
// reached all clients.
func TestTakeoverAfterAConclusion(t *testing.T) {
	for _, clients := range []int{1, 2} {
		w := newWorld(1, clients, steps()...)
		w.snapshot.Records["00-layout"] = decide.Record{Attempt: 1, Start: w.now.Add(-time.Hour),
			Deadline: w.now.Add(time.Hour), Concluded: w.now.Add(-10 * time.Minute)}
		w.snapshot.ConductedSince = w.now
		attempt := decide.Attempt{Step: "00-layout", Number: 1}
		w.clients[0].Connection = decide.Ready
		w.clients[0].Attempts[attempt] = decide.ClientStep{Progress: decide.Running}
		w.snapshot.Clients = w.seen()
		until := w.now.Add(w.snapshot.Policy.StopGrace)
		want := decide.Action{Kind: decide.Stop, Attempt: attempt, Clients: []decide.ClientKey{key(0)}, Until: until}
		if diff := cmp.Diff(want, decide.Next(w.snapshot, w.now)); diff != "" {
			t.Errorf("%d clients (-want +got):\n%s", clients, diff)
		}
		got := decide.Next(w.snapshot, until)
		if got.Kind != decide.Fail || got.Failure.Reason != decide.ReasonUnresponsive {
			t.Errorf("%d clients: %s after that, want the run to fail", clients, got)
		}
		w.clients[0].Attempts[attempt] = decide.ClientStep{Progress: decide.Ended}
		w.snapshot.Clients = w.seen()
		want = decide.Action{Kind: decide.RecordResult, Attempt: attempt}
		if clients > 1 {
			want = decide.Action{Kind: decide.Wait, Until: w.now.Add(w.snapshot.Policy.StartTimeout)}
		}
		if diff := cmp.Diff(want, decide.Next(w.snapshot, w.now)); diff != "" {
			t.Errorf("%d clients, once that one has ended (-want +got):\n%s", clients, diff)
		}
	}
}

// TestLostClientIsReachedAgain checks the decision after an earlier conductor lost one client and therefore stopped the
// other. If the lost client turns out to be reachable, it is stopped as well, and the step is repeated if it can be.
func TestLostClientIsReachedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		other  decide.Progress
		lostAt time.Duration
		once   bool
		want   decide.Kind
	}{
		"it is running":              {decide.Running, time.Minute, false, decide.Stop},
		"it has ended":               {decide.Ended, time.Minute, false, decide.Retry},
		"lost in an earlier attempt": {decide.Ended, -time.Minute, false, decide.RecordResult},
		"it is running, in a drain":  {decide.Running, time.Minute, true, decide.Stop},
		"it has ended, in a drain":   {decide.Ended, time.Minute, true, decide.RecordResult},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, 2, steps()...)
			attempt := decide.Attempt{Step: "00-layout", Number: 1}
			w.snapshot.Records["00-layout"] = decide.Record{Attempt: 1, Start: w.now, Deadline: w.now.Add(time.Hour)}
			w.snapshot.LostAt[key(1)], w.snapshot.Steps[0].NonRepeatable = w.now.Add(c.lostAt), c.once
			for i, part := range []decide.ClientStep{{Progress: decide.Ended, Stopped: true}, {Progress: c.other}} {
				w.clients[i].Connection = decide.Ready
				w.clients[i].Attempts[attempt] = part
			}
			w.snapshot.Clients = w.seen()
			if got := decide.Next(w.snapshot, w.now.Add(2*time.Minute)); got.Kind != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestStartTimeoutNamesThoseThatHadIt checks that only clients that have had the whole start timeout are reported as
// not ready, not a replacement that was added later.
func TestStartTimeoutNamesThoseThatHadIt(t *testing.T) {
	w := newWorld(1, 3, steps()...)
	w.clients[0].Connection = decide.Ready
	w.clients[2].Since = w.now.Add(50 * time.Second)
	for _, client := range w.clients {
		w.snapshot.Clients = append(w.snapshot.Clients, *client)
	}
	timeout := w.snapshot.Policy.StartTimeout
	if got := decide.Next(w.snapshot, w.now.Add(timeout-time.Second)); got.Kind != decide.Wait || !got.Until.Equal(w.now.Add(timeout)) {
		t.Errorf("before the timeout: %+v", got)
	}
	got := decide.Next(w.snapshot, w.now.Add(timeout))
	if got.Kind != decide.Fail || got.Failure.Message != "clients not ready after 1m0s: a/1 (starting)" {
		t.Errorf("after it: %+v", got.Failure)
	}
}

// TestEndedBeforeTheStart checks that an attempt is not started if it has already ended on one of its clients.
func TestEndedBeforeTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		first, second decide.ClientStep
		want          decide.Kind
		of            int
	}{
		"stopped by a conductor that died": {decide.ClientStep{Progress: decide.Loaded}, decide.ClientStep{Progress: decide.Ended}, decide.Stop, 1},
		"the other is not loaded yet":      {decide.ClientStep{Progress: decide.Loading}, decide.ClientStep{Progress: decide.Ended}, decide.Wait, 0},
		"all are stopped":                  {decide.ClientStep{Progress: decide.Ended}, decide.ClientStep{Progress: decide.Ended}, decide.Retry, 2},
		"about to be lost":                 {decide.ClientStep{Progress: decide.Loaded}, decide.ClientStep{Progress: decide.Ended, AgentTerminated: true}, decide.Wait, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, 2, steps()...)
			for i, part := range []decide.ClientStep{c.first, c.second} {
				w.clients[i].Connection = decide.Ready
				w.clients[i].Attempts[decide.Attempt{Step: "00-layout", Number: 1}] = part
				w.snapshot.Clients = append(w.snapshot.Clients, *w.clients[i])
			}
			if got := decide.Next(w.snapshot, w.now); got.Kind != c.want || got.Attempt.Number != c.of {
				t.Errorf("%s, want %s of attempt %d", got, c.want, c.of)
			}
		})
	}
}

// TestStoppedBeforeTheStartAndLost checks that a lost client is replaced even if its attempt had ended, because it was
// stopped before the start and so has not completed the attempt.
func TestStoppedBeforeTheStartAndLost(t *testing.T) {
	w := newWorld(1, 2, steps()...)
	attempt := decide.Attempt{Step: "00-layout", Number: 1}
	w.clients[0].Connection, w.clients[1].Connection = decide.Ready, decide.Lost
	w.clients[0].Attempts[attempt] = decide.ClientStep{Progress: decide.Ended}
	w.clients[1].Attempts[attempt] = decide.ClientStep{Progress: decide.Ended}
	w.snapshot.Clients = w.seen()
	if got := decide.Next(w.snapshot, w.now); got.Kind != decide.Retry || len(got.Clients) != 1 {
		t.Errorf("%s, want the step repeated because of the client that was lost", got)
	}
}

// TestEarlierAttemptIsStoppedAtOnce checks that an earlier attempt is stopped even while a replacement client is not
// ready. The stop must take effect before the start timeout of the replacement.
func TestEarlierAttemptIsStoppedAtOnce(t *testing.T) {
	w := newWorld(1, 2, steps()...)
	w.snapshot.Records["00-layout"] = decide.Record{Attempt: 2}
	old := decide.Attempt{Step: "00-layout", Number: 1}
	w.clients[0].Connection = decide.Ready
	w.clients[0].Attempts[old] = decide.ClientStep{Progress: decide.Running}
	w.snapshot.Clients = w.seen()
	want := decide.Action{Kind: decide.Stop, Attempt: old, Clients: []decide.ClientKey{key(0)}, Until: w.now.Add(w.snapshot.Policy.StartTimeout)}
	if diff := cmp.Diff(want, decide.Next(w.snapshot, w.now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := decide.Next(w.snapshot, want.Until); got.Kind != decide.Fail {
		t.Errorf("%s when the replacement is late, want a failure", got)
	}
}

// TestConcludeOnlyIfAllRun checks that a step that has measured enough is concluded, and awaited for the stop grace
// period from then on, but only while all clients run it.
func TestConcludeOnlyIfAllRun(t *testing.T) {
	attempt := decide.Attempt{Step: "00-layout", Number: 1}
	for name, parts := range map[string][]decide.Progress{
		"all run": {decide.Running, decide.Running, decide.Running}, "two are late": {decide.Running, decide.Loading, decide.Loaded},
		"one has ended": {decide.Running, decide.Running, decide.Ended},
	} {
		w := newWorld(1, 3, steps()...)
		w.snapshot.Records["00-layout"] = decide.Record{Attempt: 1, Start: w.now.Add(-time.Minute), Deadline: w.now.Add(time.Hour)}
		w.snapshot.Enough[attempt] = "the baseline is known"
		for i, progress := range parts {
			w.clients[i].Connection = decide.Ready
			w.clients[i].Attempts[attempt] = decide.ClientStep{Progress: progress}
		}
		w.snapshot.Clients = w.seen()
		got := decide.Next(w.snapshot, w.now)
		if got.Kind == decide.Conclude != (name == "all run") {
			t.Errorf("%s: %s", name, got)
		}
		if got.Kind == decide.Conclude && !got.Until.Equal(w.now.Add(w.snapshot.Policy.StopGrace)) {
			t.Errorf("%s: until %s, want %s after %s", name, got.Until, w.snapshot.Policy.StopGrace, w.now)
		}
	}
}

// TestLossThatIsWaitedFor checks that the conductor waits for news once LossPatience has passed, instead of setting a
// time in the past.
func TestLossThatIsWaitedFor(t *testing.T) {
	w := mpiWorld()
	w.snapshot.Records["00-layout"] = decide.Record{Attempt: 1, Start: w.now, Deadline: w.now.Add(time.Minute)}
	lost := peerLost(key(1))
	for i, part := range []decide.ClientStep{
		{Progress: decide.Ended, Failed: &lost, Since: w.now}, {Progress: decide.Ended, AgentTerminated: true}, {Progress: decide.Ended, Failed: &lost, Since: w.now},
	} {
		w.clients[i].Connection = decide.Ready
		w.clients[i].Attempts[decide.Attempt{Step: "00-layout", Number: 1}] = part
	}
	w.snapshot.Clients = w.seen()
	if got := decide.Next(w.snapshot, w.now.Add(10*time.Second)); got.Kind != decide.Wait || !got.Until.IsZero() {
		t.Errorf("%s until %s, want to wait for news", got, got.Until)
	}
}

// TestLossGoesBeforeOtherFailures checks that the step is repeated if one client of a job reports a killed rank and
// another one reports a lost client, because the loss explains both.
func TestLossGoesBeforeOtherFailures(t *testing.T) {
	w := mpiWorld()
	w.snapshot.Records["00-layout"] = decide.Record{Attempt: 1, Start: w.now, Deadline: w.now.Add(time.Minute)}
	killed, lost := decide.Failure{Reason: "Killed", Message: "signal 9, killed"}, peerLost(key(1))
	for i, failure := range []*decide.Failure{&killed, nil, &lost} {
		w.clients[i].Connection = decide.Ready
		w.clients[i].Attempts[decide.Attempt{Step: "00-layout", Number: 1}] =
			decide.ClientStep{Progress: decide.Ended, Failed: failure, Since: w.now}
	}
	w.snapshot.Clients = w.seen()
	got := decide.Next(w.snapshot, w.now.Add(10*time.Second))
	if got.Kind != decide.Retry || got.Reason != "a client lost its connection to another client" {
		t.Errorf("%s, want the step to be repeated because of the lost connection", got)
	}
}

// TestWhyStopped checks the reason that clients get when their load is stopped.
func TestWhyStopped(t *testing.T) {
	stopped := &decide.Failure{Reason: "Stopped", Message: "interrupted"}
	ended := func(reason string) decide.ClientStep {
		return decide.ClientStep{Progress: decide.Ended, Failed: &decide.Failure{Reason: reason}}
	}
	for want, change := range map[string]func(s *decide.Snapshot, part *decide.ClientStep, record *decide.Record){
		"interrupted": func(s *decide.Snapshot, _ *decide.ClientStep, _ *decide.Record) { s.Cancel = stopped },
		"it failed": func(s *decide.Snapshot, _ *decide.ClientStep, _ *decide.Record) {
			s.Failure = &decide.Failure{Message: "it failed"}
		},
		"the run is over":     func(s *decide.Snapshot, _ *decide.ClientStep, _ *decide.Record) { s.Steps = nil },
		"enough was measured": func(s *decide.Snapshot, _ *decide.ClientStep, r *decide.Record) { r.Concluded = s.Begun },
		"another client received the start command too late; the step is repeated": func(_ *decide.Snapshot, p *decide.ClientStep, _ *decide.Record) {
			*p = ended(decide.ReasonStartMissed)
		},
		"another client failed": func(_ *decide.Snapshot, p *decide.ClientStep, _ *decide.Record) { *p = ended("NoSpace") },
		"another client reported that a client was lost": func(s *decide.Snapshot, p *decide.ClientStep, _ *decide.Record) {
			s.Steps[0].Coupled, *p = true, ended(decide.ReasonClientLost)
		},
		"another client was lost; the step cannot be repeated": func(s *decide.Snapshot, _ *decide.ClientStep, _ *decide.Record) {
			s.Steps[0].NonRepeatable = true
		},
		"the step is repeated": func(*decide.Snapshot, *decide.ClientStep, *decide.Record) {},
	} {
		w := newWorld(1, 2, steps()...)
		part, record := decide.ClientStep{Progress: decide.Running}, decide.Record{Attempt: 1, Start: w.now}
		change(&w.snapshot, &part, &record)
		w.snapshot.Records["00-layout"] = record
		w.clients[0].Connection, w.clients[1].Connection = decide.Ready, decide.Ready
		w.clients[1].Attempts[decide.Attempt{Step: "00-layout", Number: 1}] = part
		w.snapshot.Clients = w.seen()
		if got := w.snapshot.WhyStopped(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
