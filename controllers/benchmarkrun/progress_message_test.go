package benchmarkrun

import (
	"testing"

	"github.com/storagebench/storagebench/internal/decide"
)

func TestAbsentees(t *testing.T) {
	t.Parallel()
	client := func(index int, connection decide.Connection, why string) decide.Client {
		return decide.Client{Key: decide.ClientKey{Target: "data", Index: index}, Connection: connection, Message: why}
	}
	clients := []decide.Client{client(0, decide.Ready, ""), client(1, decide.Connecting, "pulling its image")}
	for i := 2; i < 6; i++ {
		clients = append(clients, client(i, decide.Connecting, "Insufficient cpu"))
	}
	const want = "waiting for 5 of 6 clients: Insufficient cpu (data/2, data/3 and 2 more); pulling its image (data/1)"
	if got := unconnectedClients(clients); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := unconnectedClients(clients[:1]); got != "" {
		t.Errorf("nobody is absent: %q", got)
	}
}
