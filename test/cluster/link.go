package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reserveNetwork lets only one process at a time choose a network and add the routes that mark it as taken. The lock is
// an abstract Unix socket: it belongs to this machine's network namespace, as the routes do, and is released when the
// process ends.
func reserveNetwork(ctx context.Context) (func(), error) {
	for {
		held, err := (&net.ListenConfig{}).Listen(ctx, "unix", "@storagebench-test-network")
		if err == nil {
			return func() { _ = held.Close() }, nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return nil, fmt.Errorf("reserving a network: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another cluster to choose its network: %w", ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

// createLink connects the first node with this machine, and the other nodes with the first. So this machine forwards no
// packets, and its firewall's forwarding rules do not matter.
func (m Member) createLink(ctx context.Context, known record, pid int) error {
	n, device := known.Network, m.device()
	run := ip
	routes := []netip.Prefix{n.pods(), n.services(), n.nodes()}
	if m.place > 0 {
		routes = []netip.Prefix{n.podsOf(m.place)}
		run = func(ctx context.Context, arguments ...string) error {
			return command(ctx, append([]string{"nsenter", "--target=" + strconv.Itoa(known.Init.PID), "--net", "ip"}, arguments...)...)
		}
		// The kernel removes the link of a dead node only after a moment.
		_ = run(ctx, "link", "delete", device)
	}
	commands := [][]string{
		{"link", "add", device, "type", "veth", "peer", "name", nodeLink, "netns", strconv.Itoa(pid)},
		// The alias tells users to which cluster the device belongs.
		{"link", "set", device, "alias", m.state.folder},
		{"address", "add", n.gateway(m.place).String() + "/30", "dev", device},
		{"link", "set", device, "up"},
	}
	for _, route := range routes {
		commands = append(commands, []string{"route", "add", route.String(), "via", n.node(m.place).String(), "dev", device})
	}
	for _, arguments := range commands {
		if err := run(ctx, arguments...); err != nil {
			return err
		}
	}
	return nil
}

func (s State) hasLink() bool {
	_, err := os.Stat("/sys/class/net/" + s.link())
	return err == nil
}

// removeLink removes the link. The kernel removes its routes with it.
func (s State) removeLink(ctx context.Context) error {
	if !s.hasLink() {
		return nil
	}
	if err := ip(ctx, "link", "delete", s.link()); err != nil && s.hasLink() {
		return err // otherwise the kernel has removed it with the node meanwhile
	}
	return nil
}

func ip(ctx context.Context, arguments ...string) error {
	return command(ctx, append([]string{"ip"}, arguments...)...)
}

func command(ctx context.Context, arguments ...string) error {
	output, err := exec.CommandContext(ctx, arguments[0], arguments[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("setting the network up with `%s`: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
