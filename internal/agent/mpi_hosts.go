package agent

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"strings"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// mpiHost is an address of clients, and the first of them: it starts the ranks of all.
type mpiHost struct {
	// Name is the clients' IP address.
	Name string `json:"name"`
	// Client is the one that is asked to launch, at Address.
	Client  int    `json:"client"`
	Address string `json:"address"`
	Slots   int    `json:"slots"`
}

// localName is how MPI names the machine on which it was started, whatever its addresses are.
const localName = "localhost"

// mpiHosts gives the hosts of a job, that of client 0 first, from where all clients are reached.
func mpiHosts(tool *agentapi.MpiTool) ([]mpiHost, error) {
	if tool.GetProcessesPerClient() < 1 {
		return nil, fmt.Errorf("the step has %d processes a client, want 1 at least", tool.GetProcessesPerClient())
	}
	var hosts []mpiHost
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
			return nil, fmt.Errorf("client %d stands at place %d of the step's clients, want all in order, from 0", client.GetClient(), i)
		}
		place, known := at[name]
		if !known {
			place = len(hosts)
			at[name] = place
			hosts = append(hosts, mpiHost{Name: name, Client: i, Address: client.GetAddress()})
		}
		hosts[place].Slots += int(tool.GetProcessesPerClient())
	}
	if len(hosts) == 0 {
		return nil, errors.New("the step names no clients")
	}
	return hosts, nil
}

// slots is the number of ranks on all hosts.
func slots(hosts []mpiHost) int {
	sum := 0
	for _, host := range hosts {
		sum += host.Slots
	}
	return sum
}

// hostfile gives the hosts as mpirun reads them. Addresses are numbers, so nothing waits for a name server.
func hostfile(hosts []mpiHost) string {
	var text strings.Builder
	for i, host := range hosts {
		name := host.Name
		if i == 0 {
			name = localName
		}
		fmt.Fprintf(&text, "%s slots=%d\n", name, host.Slots)
	}
	return text.String()
}

// network is the smallest network that holds the addresses of all hosts, such as "10.244.0.0/22". MPI is to use
// no other: machines have bridges of containers and more, with addresses that are the same on each, or that come and
// go. Hosts that are one machine have its loopback, whole. It is empty where there is nothing to choose: of one host, and
// where the addresses have nothing in common. MPI reads it only of IPv4.
func network(hosts []mpiHost) string {
	var first netip.Addr
	length, loopback := 32, true
	for i, host := range hosts {
		address, err := netip.ParseAddr(host.Name)
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
		length = shortest // its interface has an address of its own
	}
	return netip.PrefixFrom(first, length).Masked().String()
}

// interfaceOf is the name of this machine's interface with an address; empty where there is none, or it is
// that of the machine to itself.
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
