package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// goAhead is the file descriptor of a pipe. The process that started the node writes one byte to it when everything
// outside of the node is ready. If the pipe ends without a byte, that process has died.
const goAhead = 3

// Run sets up the node that a Spec describes and supervises it. Its process must be process 1 of new namespaces. Run
// returns only if it fails.
func Run(specFile string) error {
	if os.Getpid() != 1 {
		return errors.New("this command is process 1 of a node and is run by `up` only")
	}
	spec, err := readSpec(specFile)
	if err != nil {
		return err
	}
	// Open the folder now, because the node's mounts will hide the path.
	folder, err := os.OpenRoot(spec.Var)
	if err != nil {
		return fmt.Errorf("opening the node's /var: %w", err)
	}
	// Programs that this process itself starts, such as ip, also need the PATH.
	if err := os.Setenv("PATH", SearchPath); err != nil {
		return fmt.Errorf("setting where programs are: %w", err)
	}
	if err := errors.Join(setLimits(), prepare(spec)); err != nil {
		return errors.Join(err, Status{Error: err.Error()}.write(folder, spec.StatusFile))
	}
	return newSupervisor(spec, folder).run(context.Background())
}

func prepare(spec Spec) error {
	pipe := os.NewFile(goAhead, "go-ahead")
	if _, err := io.ReadFull(pipe, make([]byte, 1)); err != nil {
		return fmt.Errorf("waiting for the machine's side of the network: %w", err)
	}
	_ = pipe.Close()
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("setting the name of the node: %w", err)
	}
	if err := spec.setUpMounts(); err != nil {
		return err
	}
	if err := os.MkdirAll(spec.LogFolder, 0o755); err != nil {
		return fmt.Errorf("making the folder of logs: %w", err)
	}
	for _, command := range spec.Network {
		output, err := exec.CommandContext(context.Background(), command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("setting the network up with %q: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(output)))
		}
	}
	// The node forwards packets between pods, and from pods to services.
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0o600); err != nil {
		return fmt.Errorf("letting the node forward packets: %w", err)
	}
	return nil
}
