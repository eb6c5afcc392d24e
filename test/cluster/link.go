//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// createLink connects this machine with the node's network.
func (s State) createLink(ctx context.Context, n network, pid int) error {
	for _, arguments := range [][]string{
		{"link", "add", hostLink, "type", "veth", "peer", "name", nodeLink, "netns", strconv.Itoa(pid)},
		// Whose it is, for those who find it.
		{"link", "set", hostLink, "alias", s.folder},
		{"address", "add", n.host().String() + "/30", "dev", hostLink},
		{"link", "set", hostLink, "up"},
		{"route", "add", n.pods().String(), "via", n.node().String(), "dev", hostLink},
		{"route", "add", n.services().String(), "via", n.node().String(), "dev", hostLink},
	} {
		if err := ip(ctx, arguments...); err != nil {
			return err
		}
	}
	return nil
}

// linkOwner is the state folder of the cluster that the link belongs to; empty
// when there is no link.
func linkOwner() (string, bool) {
	data, err := os.ReadFile("/sys/class/net/" + hostLink + "/ifalias")
	if errors.Is(err, os.ErrNotExist) {
		return "", false
	}
	return strings.TrimSpace(string(data)), true
}

// removeLink removes the link unless another cluster owns it.
func (s State) removeLink(ctx context.Context) error {
	owner, exists := linkOwner()
	if !exists || (owner != s.folder && owner != "") {
		return nil
	}
	err := ip(ctx, "link", "delete", hostLink)
	if _, exists := linkOwner(); !exists {
		return nil // it may have gone with the node meanwhile
	}
	return err
}

// refuseSecond says no to a second cluster on this machine, whose addresses and
// link the first has.
func (s State) refuseSecond(ctx context.Context) error {
	owner, exists := linkOwner()
	if !exists || owner == s.folder {
		return nil
	}
	if other := (State{folder: owner}).load(); other != nil && other.Init.alive() {
		return fmt.Errorf("another test cluster runs on this machine, its state is in %s: "+
			"use that one, or end it first with `cluster down --state %s`", owner, owner)
	}
	return ip(ctx, "link", "delete", hostLink)
}

func ip(ctx context.Context, arguments ...string) error {
	output, err := exec.CommandContext(ctx, "ip", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("setting the network up with `ip %s`: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
