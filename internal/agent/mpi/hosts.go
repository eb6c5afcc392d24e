package mpi

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"strings"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// host describes the clients that share one IP address. The first of these clients starts the ranks of all of them.
type host struct {
	// Name is the clients' IP address.
	Name string `json:"name"`
	// Client is the client whose agent launches the daemon. Address is the address of that agent.
	Client  int    `json:"client"`
	Address string `json:"address"`
	Slots   int    `json:"slots"`
}

// localName is MPI's name for the machine on which mpirun was started, regardless of its addresses.
const localName = "localhost"

// hostsOf returns the hosts of a job from the addresses of all clients. Client 0's host comes first.
func hostsOf(tool *agentapi.MpiTool) ([]host, error) {
	if tool.GetProcessesPerClient() < 1 {
		return nil, fmt.Errorf("the step has %d processes per client, want at least 1", tool.GetProcessesPerClient())
	}
	var hosts []host
	at := map[string]int{}
	for i, client := range tool.GetClients() {
		name, _, err := net.SplitHostPort(client.GetAddress())
		if err != nil {
			return nil, fmt.Errorf("read the address of client %d: %w", client.GetClient(), err)
		}
		if _, err := netip.ParseAddr(name); err != nil {
			return nil, fmt.Errorf("the address of client %d has host %q, want an IP address", client.GetClient(), name)
		}
		if int(client.GetClient()) != i {
			return nil, fmt.Errorf("client %d is at index %d of the step's clients, want the clients in order from 0",
				client.GetClient(), i)
		}
		place, known := at[name]
		if !known {
			place = len(hosts)
			at[name] = place
			hosts = append(hosts, host{Name: name, Client: i, Address: client.GetAddress()})
		}
		hosts[place].Slots += int(tool.GetProcessesPerClient())
	}
	if len(hosts) == 0 {
		return nil, errors.New("the step lists no clients")
	}
	return hosts, nil
}

// slots returns the total number of ranks on all hosts.
func slots(hosts []host) int {
	sum := 0
	for _, one := range hosts {
		sum += one.Slots
	}
	return sum
}

// hostfile returns the hosts in mpirun's hostfile format. The names are localhost and IP addresses, so mpirun resolves
// no names.
func hostfile(hosts []host) string {
	var text strings.Builder
	for i, one := range hosts {
		name := one.Name
		if i == 0 {
			name = localName
		}
		fmt.Fprintf(&text, "%s slots=%d\n", name, one.Slots)
	}
	return text.String()
}

// network returns the smallest network that contains the addresses of all hosts, such as "10.244.0.0/22". MPI must use
// only this network, because other interfaces, such as container bridges, have the same addresses on every machine or
// exist only temporarily. If all addresses are loopback addresses, the result is the whole loopback network. The result
// is empty for one host and for addresses with fewer than 8 leading bits in common. It is also empty for IPv6, because
// MPI selects networks only by IPv4 addresses.
func network(hosts []host) string {
	var first netip.Addr
	length, loopback := 32, true
	for i, one := range hosts {
		address, err := netip.ParseAddr(one.Name)
		if err != nil || !address.Unmap().Is4() {
			return ""
		}
		address = address.Unmap()
		loopback = loopback && address.IsLoopback()
		if i == 0 {
			first = address
			continue
		}
		a, b := first.As4(), address.As4()
		same := 0
		for j := range a {
			same += bits.LeadingZeros8(a[j] ^ b[j])
			if a[j] != b[j] {
				break
			}
		}
		length = min(length, same)
	}
	const shortest = 8
	if len(hosts) < 2 || length < shortest {
		return ""
	}
	if loopback {
		length = shortest // Use the whole loopback network: the interface may have an address that no host uses.
	}
	return netip.PrefixFrom(first, length).Masked().String()
}

// interfaceOf returns the name of this machine's interface with the given address. It returns "" for a loopback
// address, or if no interface has this address.
func interfaceOf(address string) string {
	wanted, err := netip.ParseAddr(address)
	if err != nil || wanted.IsLoopback() {
		return ""
	}
	all, err := net.Interfaces()
	if err != nil {
		return ""
	}
	for _, one := range all {
		addresses, err := one.Addrs()
		if err != nil {
			continue
		}
		for _, assigned := range addresses {
			if prefix, err := netip.ParsePrefix(assigned.String()); err == nil && prefix.Addr().Unmap() == wanted.Unmap() {
				return one.Name
			}
		}
	}
	return ""
}
