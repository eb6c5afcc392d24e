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
	// nodeLink is the name of the link's device in a node.
	nodeLink = "eth0"
	// MaxNodes is the maximum number of nodes for which a cluster has addresses.
	MaxNodes = 8
)

// network holds the addresses of a cluster, which are parts of a /16 network: x.y.0.0/20 for services, x.y.32.0/19 for
// pods with a /22 for each node, and x.y.255.0/24 for links with a /30 for both ends of each node's link.
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

// node returns the address of a node, and gateway the address of the other end of its link, which is on this machine
// for the first node and in the first node for the others.
func (n network) node(node int) netip.Addr    { return n.part(255, 4*byte(node)+2) }
func (n network) gateway(node int) netip.Addr { return n.part(255, 4*byte(node)+1) }

// apiService returns the first service address, which Kubernetes assigns to the service of its API server.
func (n network) apiService() netip.Addr { return n.part(0, 1) }

// apiServer returns the URL by which this machine reaches the API server.
func (n network) apiServer() string { return "https://" + netip.AddrPortFrom(n.node(0), 6443).String() }

// candidates lists private networks that are rarely used.
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

// chooseNetwork returns the first candidate to which this machine has no route.
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

// parseRoutes parses /proc/net/route. It omits the default route, which contains every network.
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

// parseAddress parses an address of /proc/net/route: the kernel prints the four bytes, which are in network order, as
// one number in the machine's native byte order.
func parseAddress(text string) (netip.Addr, error) {
	value, err := strconv.ParseUint(text, 16, 32)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("reading the address %q of a route: %w", text, err)
	}
	var bytes [4]byte
	binary.NativeEndian.PutUint32(bytes[:], uint32(value))
	return netip.AddrFrom4(bytes), nil
}
