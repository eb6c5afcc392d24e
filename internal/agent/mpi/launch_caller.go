package mpi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/identity"
)

// headSettings are the MPI parameters that contain the address of the process that controls a daemon.
var headSettings = []string{"orte_hnp_uri", "prte_hnp_uri"}

// checkCaller uses the caller's certificate to verify that the caller is client 0 of this step. Only client 0 may
// launch daemons.
func (m *member) checkCaller(ctx context.Context) error {
	caller, err := tool.CallerOf(ctx)
	if err != nil {
		return status.Error(codes.PermissionDenied, err.Error())
	}
	config := m.env.Config
	launcher := identity.ClientOf(config.RunUID, config.Target, int(m.load.GetClients()[0].GetClient()))
	if caller != launcher {
		return status.Errorf(codes.PermissionDenied, "step %s may be launched only by %s, not by %s",
			tool.StepName(m.step.Request.GetStep()), launcher, caller)
	}
	return nil
}

// checkLaunch returns an error if the daemon does not belong to this client's version of MPI, or would be controlled
// from an address other than the caller's. The controlling process decides which programs the daemon runs.
func (m *member) checkLaunch(ctx context.Context, command []string) error {
	if err := m.checkCaller(ctx); err != nil {
		return err
	}
	if version, err := parseVersion("mpirun (Open MPI) " + m.known.version("mpirun")); err == nil && command[0] != version.daemon() {
		return status.Errorf(codes.PermissionDenied, "client 0 requests %s, but the daemon of Open MPI %s is %s; use "+
			"the same image for all clients",
			command[0], version.text, version.daemon())
	}
	heads, err := headsOf(command)
	if err != nil {
		return status.Error(codes.PermissionDenied, err.Error())
	}
	from, ok := peer.FromContext(ctx)
	if !ok {
		return status.Error(codes.PermissionDenied, "cannot determine the caller's address")
	}
	tcp, ok := from.Addr.(*net.TCPAddr)
	if !ok || !leadsTo(heads, tcp.AddrPort().Addr()) {
		return status.Errorf(codes.PermissionDenied, "%s requested a daemon controlled from %s, not from the "+
			"caller's own address; connect the clients without address translation", from.Addr, heads)
	}
	return nil
}

// headsOf returns the addresses of the processes that would control a daemon. Each of their URIs has a form such as
// "25296896.0;tcp://10.0.0.1,10.1.0.1:54171;tcp6://[fd00::2]:43043".
func headsOf(command []string) ([]netip.Addr, error) {
	var heads []netip.Addr
	for i := 1; i+1 < len(command); i++ {
		if !slices.Contains(headSettings, command[i]) {
			continue
		}
		for _, part := range strings.Split(command[i+1], ";")[1:] {
			_, hosts, _ := strings.Cut(part, "://")
			if end := strings.LastIndex(hosts, "]"); end >= 0 {
				hosts = hosts[:end]
			} else {
				hosts, _, _ = strings.Cut(hosts, ":")
			}
			for _, host := range strings.Split(hosts, ",") {
				head, err := netip.ParseAddr(strings.Trim(host, "[]"))
				if err != nil {
					return nil, fmt.Errorf("invalid URI %q of the process that controls the MPI daemon: expected IP addresses",
						clip(command[i+1]))
				}
				heads = append(heads, head.Unmap())
			}
		}
	}
	if len(heads) == 0 {
		return nil, errors.New("the daemon's command line does not identify the process that controls it: expected one of the options " + strings.Join(headSettings, ", "))
	}
	return heads, nil
}

// leadsTo reports whether heads contains the caller's address. All loopback addresses count as equal, because a machine
// has many of them. If heads contains no address of the caller's family, no comparison is possible, and leadsTo returns
// true.
func leadsTo(heads []netip.Addr, caller netip.Addr) bool {
	caller = caller.Unmap().WithZone("")
	same := slices.DeleteFunc(slices.Clone(heads), func(head netip.Addr) bool { return head.Is4() != caller.Is4() })
	return len(same) == 0 || slices.ContainsFunc(same, func(head netip.Addr) bool {
		return head.WithZone("") == caller || head.IsLoopback() && caller.IsLoopback()
	})
}
