package measure

import (
	"cmp"
	"slices"
)

// ClientValue is the figure of one client.
type ClientValue struct {
	Client int
	Value  float64
}

// Spread is how a figure differs over the clients. Each of its values is that of a real
// client, so that one can go and look at it.
type Spread struct {
	Best, Median, Worst ClientValue
}

// SpreadOf orders the figures of all clients, of which greater is better. Median is the
// lower one of the middle two when their number is even. Of equal figures the client with
// the lower index comes first as the better. ok is false for no clients.
func SpreadOf(values []float64) (spread Spread, ok bool) {
	if len(values) == 0 {
		return Spread{}, false
	}
	clients := make([]ClientValue, len(values))
	for i, value := range values {
		clients[i] = ClientValue{Client: i, Value: value}
	}
	slices.SortFunc(clients, func(a, b ClientValue) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Client, b.Client))
	})
	return Spread{
		Best:   clients[0],
		Median: clients[len(clients)/2],
		Worst:  clients[len(clients)-1],
	}, true
}
