package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

const (
	// nodeLink is a node's end of its link.
	nodeLink = "eth0"
	// MaxNodes is how many nodes the addresses of a cluster suffice for.
	MaxNodes = 8
)

// network is the addresses of a cluster. They are parts of one /16 network:
// services x.y.0.0/20, pods x.y.32.0/19 with a /22 of it for each node, and
// x.y.255.0/24 with a /30 of it for both ends of each node's link.
type network struct {
	All netip.Prefix `json:"all"`
}

func (n network) part(third, fourth byte) netip.Addr {
	bytes := n.All.Addr().As4()
	bytes[2], bytes[3] = third, fourth
	return netip.AddrFrom4(bytes)
}

func (n network) services() netip.Prefix { return netip.PrefixFrom(n.part(0, 0), 20) }
func (n network) pods() netip.Prefix     { return netip.PrefixFrom(n.part(32, 0), 19) }
func (n network) nodes() netip.Prefix    { return netip.PrefixFrom(n.part(255, 0), 24) }
func (n network) podsOf(node int) netip.Prefix {
	return netip.PrefixFrom(n.part(32+4*byte(node), 0), 22)
}

// node is the address of a node, and gateway that of the other end of its link:
// on this machine for the first node, in the first node for the others.
func (n network) node(node int) netip.Addr    { return n.part(255, 4*byte(node)+2) }
func (n network) gateway(node int) netip.Addr { return n.part(255, 4*byte(node)+1) }

// apiService is the first address of services, which Kubernetes gives to the
// service that stands for its API server.
func (n network) apiService() netip.Addr { return n.part(0, 1) }

// apiServer is how this machine reaches the API server.
func (n network) apiServer() string { return "https://" + netip.AddrPortFrom(n.node(0), 6443).String() }

// candidates are private networks that are seldom used otherwise.
var candidates = []netip.Prefix{
	netip.MustParsePrefix("10.219.0.0/16"),
	netip.MustParsePrefix("10.187.0.0/16"),
	netip.MustParsePrefix("10.143.0.0/16"),
	netip.MustParsePrefix("172.27.0.0/16"),
	netip.MustParsePrefix("10.251.0.0/16"),
	netip.MustParsePrefix("10.203.0.0/16"),
	netip.MustParsePrefix("10.171.0.0/16"),
	netip.MustParsePrefix("10.155.0.0/16"),
	netip.MustParsePrefix("172.26.0.0/16"),
}

// chooseNetwork takes the first candidate that this machine does not use.
func chooseNetwork() (network, error) {
	table, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return network{}, fmt.Errorf("reading the routes of this machine: %w", err)
	}
	routes, err := parseRoutes(string(table))
	if err != nil {
		return network{}, err
	}
	return freeNetwork(candidates, routes)
}

func freeNetwork(candidates []netip.Prefix, routes []netip.Prefix) (network, error) {
next:
	for _, candidate := range candidates {
		for _, route := range routes {
			if route.Overlaps(candidate) {
				continue next
			}
		}
		return network{All: candidate}, nil
	}
	return network{}, errors.New("this machine has routes into every network that the cluster could use: " +
		strings.Trim(fmt.Sprint(candidates), "[]"))
}

// parseRoutes reads /proc/net/route and leaves out the default route, which
// every network is a part of.
func parseRoutes(table string) ([]netip.Prefix, error) {
	var routes []netip.Prefix
	for number, line := range strings.Split(table, "\n") {
		fields := strings.Fields(line)
		if number == 0 || len(fields) < 8 {
			continue
		}
		destination, err := parseAddress(fields[1])
		if err != nil {
			return nil, err
		}
		mask, err := parseAddress(fields[7])
		if err != nil {
			return nil, err
		}
		bits := 0
		for value := binary.BigEndian.Uint32(mask.AsSlice()); value != 0; value <<= 1 {
			bits++
		}
		if bits > 0 {
			routes = append(routes, netip.PrefixFrom(destination, bits))
		}
	}
	return routes, nil
}

// parseAddress reads an address as the kernel prints it: the bytes of the
// network as one number of this machine, which is little-endian wherever this
// runs.
func parseAddress(text string) (netip.Addr, error) {
	value, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("reading the address %q of a route: %w", text, err)
	}
	var bytes [4]byte
	binary.NativeEndian.PutUint32(bytes[:], uint32(value))
	return netip.AddrFrom4(bytes), nil
}
