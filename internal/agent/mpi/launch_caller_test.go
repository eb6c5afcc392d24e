package mpi

import (
	"net/netip"
	"testing"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
)

func TestHeadsOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		command []string
		caller  string
		want    bool
	}{
		"orted, its first address":   {plainCommand(given4), "10.0.0.1", true},
		"orted, another of its own":  {plainCommand(given4), "10.219.255.1", true},
		"orted, as IPv6 shows IPv4":  {plainCommand(given4), "::ffff:10.0.0.1", true},
		"orted, IPv6":                {plainCommand(given4), "fd00::2", true},
		"orted, a third party":       {plainCommand(given4), "10.0.0.2", false},
		"orted, a third party, IPv6": {plainCommand(given4), "fd00::3", false},
		"prted":                      {plainCommand(given5), "10.0.0.1", true},
		"prted, a third party":       {plainCommand(given5), "10.0.0.2", false},
		"no address of its family":   {[]string{"orted", "-mca", "orte_hnp_uri", "1.0;tcp://10.0.0.1:5"}, "fd00::3", true},
		"loopback":                   {[]string{"orted", "-mca", "orte_hnp_uri", "1.0;tcp://127.0.0.1:5"}, "127.0.1.1", true},
	} {
		heads, err := headsOf(test.command)
		agenttest.Must(t, err)
		if got := leadsTo(heads, netip.MustParseAddr(test.caller)); got != test.want {
			t.Errorf("%s: %t with %v", name, got, heads)
		}
	}
	for _, none := range [][]string{{"orted"}, {"orted", "-mca", "ess", "env"}, {"orted", "-mca", "orte_hnp_uri", "1.0;tcp://host:5"}} {
		if heads, err := headsOf(none); err == nil {
			t.Errorf("%q leads to %v", none, heads)
		}
	}
}
