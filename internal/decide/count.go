package decide

import (
	"slices"
	"time"
)

// counts groups the clients that take part in an attempt by their progress. absent lists the clients that have not
// received the attempt yet. Lost and finished clients are omitted.
type counts struct {
	absent, loading, loaded, running, ended []ClientKey
	// stopped lists the ended clients whose tools were stopped.
	stopped []ClientKey
	// terminated lists the ended clients that did not complete the attempt and will soon be reported lost.
	terminated []ClientKey
	failed     []failedClient
	// peerLost lists the clients that may have failed because another client was lost.
	peerLost []failedClient
	// coupled is true if the clients of each target run one MPI job.
	coupled bool
}

type failedClient struct {
	key     ClientKey
	failure Failure
	since   time.Time
}

func (s Snapshot) count(step Step, attempt Attempt) counts {
	c := counts{coupled: step.Coupled}
	for _, client := range s.Clients {
		if client.Connection == Lost || client.Connection == Finished || !step.TakesPart(client.Key) {
			continue
		}
		part, known := client.Attempts[attempt]
		if !known {
			c.absent = append(c.absent, client.Key)
			continue
		}
		switch {
		case part.Failed == nil:
		case step.peerLost(part.Failed):
			c.peerLost = append(c.peerLost, failedClient{client.Key, *part.Failed, part.Since})
		default:
			c.failed = append(c.failed, failedClient{client.Key, *part.Failed, part.Since})
		}
		if part.Stopped {
			c.stopped = append(c.stopped, client.Key)
		}
		if part.AgentTerminated {
			c.terminated = append(c.terminated, client.Key)
		}
		switch part.Progress {
		case Loading:
			c.loading = append(c.loading, client.Key)
		case Loaded:
			c.loaded = append(c.loaded, client.Key)
		case Running:
			c.running = append(c.running, client.Key)
		case Refused, Ended:
			c.ended = append(c.ended, client.Key)
		}
	}
	return c
}

// live returns the clients on which the attempt is loaded or running.
func (s Snapshot) live(step Step, attempt Attempt) []ClientKey {
	c := s.count(step, attempt)
	return slices.Concat(c.loaded, c.running)
}

// attemptReceived reports whether any client, including lost ones, has received the attempt.
func (s Snapshot) attemptReceived(step Step, attempt Attempt) bool {
	return slices.ContainsFunc(s.Clients, func(c Client) bool {
		_, known := c.Attempts[attempt]
		return known && step.TakesPart(c.Key)
	})
}

func (s Snapshot) withConnection(connection Connection) []Client {
	var found []Client
	for _, c := range s.Clients {
		if c.Connection == connection {
			found = append(found, c)
		}
	}
	return found
}

// everyTargetHasClient reports whether each target of the step has a client that is ready or may still become ready.
// After the conductor restarts, no client is ready at first.
func (s Snapshot) everyTargetHasClient(step Step) bool {
	for _, target := range step.Targets {
		if !slices.ContainsFunc(s.Clients, func(c Client) bool {
			return c.Key.Target == target && (c.Connection == Ready || c.Connection == Connecting) &&
				(step.Idle || step.TakesPart(c.Key))
		}) {
			return false
		}
	}
	return true
}

func keys(clients []Client) []ClientKey {
	var found []ClientKey
	for _, c := range clients {
		found = append(found, c.Key)
	}
	return found
}
