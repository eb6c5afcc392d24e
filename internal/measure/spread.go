package measure

import (
	"cmp"
	"slices"
)

// ClientValue is a figure of one client.
type ClientValue struct {
	Client int
	Value  float64
}

// Spread is the range of a figure over the clients. Each value comes from one client, which can then be inspected.
type Spread struct {
	Best, Median, Worst ClientValue
}

// SpreadOf returns the best, median and worst figure of all clients, where greater is better. For an even number of
// clients, the median is the worse of the middle two. If figures are equal, the client with the lower index counts
// as better. ok is false if there are no clients.
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
