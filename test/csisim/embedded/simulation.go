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

// Places in the node.
const (
	home    = "/run/csisim"
	program = "/var/lib/storagebench-csisim/csisim"
	plugins = "/var/lib/kubelet/plugins_registry"
)

// starting takes no longer, unless something is wrong.
const starting = 5 * time.Minute

// unmounting is how long the kubelet may take for pods that are gone.
const unmounting = 20 * time.Second

// Simulation is drivers at work in a node.
type Simulation struct {
	state   cluster.State
	node    int
	drivers []string
	client  kubernetes.Interface
	hold    io.Closer
	ended   chan struct{}
	log     string
}

// Start starts drivers and returns when the kubelet has them. Each is a name, with =SCENARIO for volumes that name
// none. Only one simulation of a name can be in a cluster at a time.
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

// Run runs drivers for the time of a test; at its end their volumes are gone.
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

// outside is where this machine sees a path of the node.
func (s *Simulation) outside(path string) string {
	return filepath.Join("/proc", strconv.Itoa(s.node), "root", path)
}

// Path is where this machine sees a path of the node, as that of a pod's volume.
func (s *Simulation) Path(inNode string) string { return s.outside(inNode) }

// Store is the store of a volume, by the volume's handle: what it did, and what it does to those who use it. Of a
// volume that was deleted it is what is kept.
func (s *Simulation) Store(driver, handle string) (csisim.Store, error) {
	return csisim.StoreOf(s.outside(home), driver, handle)
}

// install builds the program into the node's /var, and gives it the kubeconfig.
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

// command runs the program in the node.
func (s *Simulation) command(ctx context.Context, more ...string) (*exec.Cmd, error) {
	arguments := []string{program, "--home", home, "--instance", s.state.Folder(), "--node", cluster.NodeName}
	for _, driver := range s.drivers {
		arguments = append(arguments, "--driver", driver)
	}
	return s.state.Enter(ctx, append(arguments, more...)...)
}

func (s *Simulation) launch(ctx context.Context) error {
	// It does not end with the context of its start.
	command, err := s.command(context.WithoutCancel(ctx), "--plugins", plugins, "--kubeconfig", home+"/kubeconfig", "--with-stdin")
	if err != nil {
		return err
	}
	s.log = s.outside(fmt.Sprintf("%s/log.%d", home, os.Getpid()))
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("making the log of csisim: %w", err)
	}
	defer log.Close() //nolint:errcheck // it has its own
	command.Stdout, command.Stderr = log, log
	// An interrupt at the terminal is for us; we end it in order.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.hold, err = command.StdinPipe(); err != nil {
		return fmt.Errorf("holding csisim: %w", err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting csisim: %w", err)
	}
	go func() {
		_ = command.Wait() // its log says why
		close(s.ended)
	}()
	return nil
}

// wait until the kubelet knows every driver and the API server has its CSIDriver.
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

// missing are the drivers that the kubelet or the API server does not have yet.
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

// names are the drivers without their scenarios.
func (s *Simulation) names() []string {
	var names []string
	for _, driver := range s.drivers {
		name, _, _ := strings.Cut(driver, "=")
		names = append(names, name)
	}
	return names
}

// Log is what the drivers have said.
func (s *Simulation) Log() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// stop ends the drivers. Stores go on.
func (s *Simulation) stop(ctx context.Context) error {
	_ = s.hold.Close() // it ends by that
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
		records, _ := filepath.Glob(filepath.Join(csisim.Folder(s.outside(home), name), "volumes", "*.json")) // the pattern is right
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

// End ends the drivers and removes their volumes, contents too. It waits some seconds for the kubelet to unmount
// what pods had that are gone, which it cannot do without the drivers. Pods that still use volumes get errors.
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
		// Only those of ours: a real driver may have made one of that name.
		err := s.client.StorageV1().CSIDrivers().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{
			LabelSelector: csisim.SimulationLabel, FieldSelector: "metadata.name=" + name,
		})
		if err != nil {
			return fmt.Errorf("removing CSIDriver %s: %w", name, err)
		}
	}
	return nil
}
