package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// reserveNetwork lets one process at a time choose a network and make the routes
// that tell others that it is taken. What is held is a name in this machine's
// network, which is also where the routes are, and it goes with the process.
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

// createLink connects this machine with the node's network.
func (s State) createLink(ctx context.Context, n network, pid int) error {
	for _, arguments := range [][]string{
		{"link", "add", s.link(), "type", "veth", "peer", "name", nodeLink, "netns", strconv.Itoa(pid)},
		// Whose it is, for those who find it.
		{"link", "set", s.link(), "alias", s.folder},
		{"address", "add", n.host().String() + "/30", "dev", s.link()},
		{"link", "set", s.link(), "up"},
		{"route", "add", n.pods().String(), "via", n.node().String(), "dev", s.link()},
		{"route", "add", n.services().String(), "via", n.node().String(), "dev", s.link()},
	} {
		if err := ip(ctx, arguments...); err != nil {
			return err
		}
	}
	return nil
}

func (s State) hasLink() bool {
	_, err := os.Stat("/sys/class/net/" + s.link())
	return err == nil
}

// removeLink removes the link, and the routes with it.
func (s State) removeLink(ctx context.Context) error {
	if !s.hasLink() {
		return nil
	}
	if err := ip(ctx, "link", "delete", s.link()); err != nil && s.hasLink() {
		return err // else it has gone with the node meanwhile
	}
	return nil
}

func ip(ctx context.Context, arguments ...string) error {
	output, err := exec.CommandContext(ctx, "ip", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("setting the network up with `ip %s`: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
