package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/csisim"
)

// Paths in the node.
const (
	home    = "/run/csisim"
	program = "/var/lib/storagebench-csisim/csisim"
	plugins = "/var/lib/kubelet/plugins_registry"
)

// starting is a timeout for the start of the drivers.
const starting = 5 * time.Minute

// unmounting limits the time for which End waits for the kubelet to unmount the volumes of deleted pods.
const unmounting = 20 * time.Second

// Simulation is a set of simulated drivers that run in a node.
type Simulation struct {
	state   cluster.State
	node    int
	drivers []string
	client  kubernetes.Interface
	hold    io.Closer
	ended   chan struct{}
	log     string
}

// Start starts drivers and returns when the kubelet has registered them. Each driver is a name, optionally followed by
// =SCENARIO for volumes that name no scenario. A cluster can have only one simulation of a name at a time.
func Start(ctx context.Context, state cluster.State, drivers ...string) (*Simulation, error) {
	node, err := state.NodePID()
	if err != nil {
		return nil, err
	}
	s := &Simulation{state: state, node: node, drivers: drivers, ended: make(chan struct{})}
	if s.client, err = clientOf(state); err != nil {
		return nil, err
	}
	if err := s.install(ctx); err != nil {
		return nil, err
	}
	if err := s.launch(ctx); err != nil {
		return nil, err
	}
	if err := s.wait(ctx); err != nil {
		return nil, errors.Join(err, s.stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// Run runs drivers until a test ends, and then removes their volumes.
func Run(t testing.TB, state cluster.State, drivers ...string) *Simulation {
	t.Helper()
	s, err := Start(t.Context(), state, drivers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := s.End(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

func clientOf(state cluster.State) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", state.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the cluster: %w", err)
	}
	return client, nil
}

// outside returns the path on this machine of a path in the node.
func (s *Simulation) outside(path string) string {
	return filepath.Join("/proc", strconv.Itoa(s.node), "root", path)
}

// Path returns the path on this machine of a path in the node, such as that of a pod's volume.
func (s *Simulation) Path(inNode string) string { return s.outside(inNode) }

// Store returns the store of a volume by the volume's handle. For a deleted volume, it returns the kept record.
func (s *Simulation) Store(driver, handle string) (csisim.Store, error) {
	return csisim.StoreOf(s.outside(home), driver, handle)
}

// install builds the program into the node's /var and writes its kubeconfig.
func (s *Simulation) install(ctx context.Context) error {
	target := s.outside(program)
	if err := binaries.BuildOwn(ctx, "./test/csisim/cmd/csisim", target); err != nil {
		return err
	}
	text, err := os.ReadFile(s.state.Kubeconfig())
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of the cluster: %w", err)
	}
	if err := os.MkdirAll(s.outside(home), 0o755); err != nil {
		return fmt.Errorf("making the home of csisim: %w", err)
	}
	if err := os.WriteFile(s.outside(home+"/kubeconfig"), text, 0o600); err != nil {
		return fmt.Errorf("giving csisim the kubeconfig: %w", err)
	}
	return nil
}

// command returns a command that runs the program in the node.
func (s *Simulation) command(ctx context.Context, more ...string) (*exec.Cmd, error) {
	arguments := []string{program, "--home", home, "--instance", s.state.Folder(), "--node", cluster.NodeName}
	for _, driver := range s.drivers {
		arguments = append(arguments, "--driver", driver)
	}
	return s.state.Enter(ctx, append(arguments, more...)...)
}

func (s *Simulation) launch(ctx context.Context) error {
	// It outlives the context of its start.
	command, err := s.command(context.WithoutCancel(ctx), "--plugins", plugins, "--kubeconfig", home+"/kubeconfig", "--with-stdin")
	if err != nil {
		return err
	}
	s.log = s.outside(fmt.Sprintf("%s/log.%d", home, os.Getpid()))
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("making the log of csisim: %w", err)
	}
	defer log.Close() //nolint:errcheck // the child has its own descriptor
	command.Stdout, command.Stderr = log, log
	// An interrupt at the terminal must reach only this process, which ends csisim in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.hold, err = command.StdinPipe(); err != nil {
		return fmt.Errorf("holding csisim: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting csisim: %w", err)
	}
	go func() {
		_ = command.Wait() // the log has the reason
		close(s.ended)
	}()
	return nil
}

// wait waits until the kubelet has registered every driver and the API server has its CSIDriver.
func (s *Simulation) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	for {
		missing, err := s.missing(ctx)
		if err == nil && len(missing) == 0 {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("csisim ended at its start: %s", s.Log())
		case <-ctx.Done():
			return fmt.Errorf("waiting until the kubelet has %q: %w", missing, errors.Join(ctx.Err(), err, errors.New(s.Log())))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// missing returns the drivers that the kubelet or the API server does not have yet.
func (s *Simulation) missing(ctx context.Context) ([]string, error) {
	node, err := s.client.StorageV1().CSINodes().Get(ctx, cluster.NodeName, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return s.drivers, fmt.Errorf("reading the CSINode: %w", err)
	}
	registered := map[string]bool{}
	if err == nil {
		for _, driver := range node.Spec.Drivers {
			registered[driver.Name] = true
		}
	}
	var missing []string
	for _, name := range s.names() {
		_, err := s.client.StorageV1().CSIDrivers().Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return s.drivers, fmt.Errorf("reading CSIDriver %s: %w", name, err)
		}
		if err != nil || !registered[name] {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// names returns the drivers without their scenarios.
func (s *Simulation) names() []string {
	var names []string
	for _, driver := range s.drivers {
		name, _, _ := strings.Cut(driver, "=")
		names = append(names, name)
	}
	return names
}

// Log returns the log of the drivers.
func (s *Simulation) Log() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// stop ends the drivers. Their stores continue.
func (s *Simulation) stop(ctx context.Context) error {
	_ = s.hold.Close() // csisim ends when its standard input does
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end of csisim: %w", ctx.Err())
	}
}

// used reports whether the kubelet has a volume mounted.
func (s *Simulation) used() bool {
	mounts, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.node), "mountinfo"))
	if err != nil {
		return false // the node is gone
	}
	var roots []string
	for _, name := range s.names() {
		records, _ := filepath.Glob(filepath.Join(csisim.Folder(s.outside(home), name), "volumes", "*.json")) // the pattern is valid
		for _, record := range records {
			roots = append(roots, " /"+strings.TrimSuffix(filepath.Base(record), ".json")+" /var/lib/kubelet/")
		}
	}
	for line := range strings.Lines(string(mounts)) {
		ours := func(root string) bool { return strings.Contains(line, root) }
		if slices.ContainsFunc(roots, ours) || len(roots) > 0 && strings.Contains(line, " /loop") && strings.Contains(line, "/kubernetes.io") {
			return true
		}
	}
	return false
}

// End ends the drivers and removes their volumes with the contents. First it gives the kubelet some seconds to unmount
// the volumes of deleted pods, which needs the drivers. Pods that still use a volume get errors.
func (s *Simulation) End(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < unmounting && s.used(); time.Sleep(100 * time.Millisecond) {
		if ctx.Err() != nil {
			break
		}
	}
	if err := s.stop(ctx); err != nil {
		return err
	}
	command, err := s.command(ctx, "--clear")
	if err != nil {
		return err
	}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("removing the volumes of csisim: %w\n%s", err, output)
	}
	for _, name := range s.names() {
		// Delete only simulated ones: a real driver may own a CSIDriver of that name.
		err := s.client.StorageV1().CSIDrivers().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{
			LabelSelector: csisim.SimulationLabel, FieldSelector: "metadata.name=" + name,
		})
		if err != nil {
			return fmt.Errorf("removing CSIDriver %s: %w", name, err)
		}
	}
	return nil
}
