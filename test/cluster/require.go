package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagebench/storagebench/test/binaries"
)

// KindVariable is the environment variable that selects the cluster for tests: "embedded", the default, for the cluster
// of this package, or "current" for the current context of the user's kubeconfig, such as a kind cluster.
const KindVariable = "CLUSTER"

// Cluster is a cluster for tests.
type Cluster struct {
	Config *rest.Config
	// Kubeconfig is the path of a file for kubectl.
	Kubeconfig string
	// Embedded is true for the cluster of this package. Tests can load images into it and kill parts of it.
	Embedded bool
	// State is the state of an embedded cluster.
	State State
}

// Require returns the cluster for tests. It starts an embedded cluster unless it is running, and leaves it up for later
// tests; `cluster down` ends it. If there is no cluster, the test fails with the reason in one line.
func Require(t testing.TB) *Cluster {
	t.Helper()
	found, err := require()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// require runs find only once per test program.
var require = sync.OnceValues(find)

func find() (*Cluster, error) {
	switch kind := os.Getenv(KindVariable); kind {
	case "", "embedded":
		return embedded(context.Background())
	case "current":
		return current()
	default:
		return nil, fmt.Errorf("%s is %q: it has to be \"embedded\" or \"current\"", KindVariable, kind)
	}
}

// embedded starts the cluster with the command `cluster up`, because the program that calls State.Up also runs as
// process 1 of the node, and a test program cannot.
func embedded(ctx context.Context) (*Cluster, error) {
	root, err := binaries.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	state, err := Open(DefaultState())
	if err != nil {
		return nil, err
	}
	if err := upByCommand(ctx, root, state); err != nil {
		return nil, err
	}
	config, err := state.restConfig()
	if err != nil {
		return nil, err
	}
	return &Cluster{Config: config, Kubeconfig: state.Kubeconfig(), Embedded: true, State: state}, nil
}

func upByCommand(ctx context.Context, root string, state State, arguments ...string) error {
	var output bytes.Buffer
	command := exec.CommandContext(ctx, "go", append([]string{"run", "./test/cluster/cmd/cluster", "--state=" + state.folder, "up"}, arguments...)...)
	command.Dir = root
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s", strings.TrimSuffix(strings.TrimSpace(output.String()), "\nexit status 1"))
	}
	return nil
}

// Up gives an embedded cluster the given number of nodes, and restarts nodes that have died.
func (c *Cluster) Up(ctx context.Context, nodes int) error {
	root, err := binaries.RepositoryRoot()
	if err != nil {
		return err
	}
	return upByCommand(ctx, root, c.State, fmt.Sprintf("--nodes=%d", nodes))
}

// Nodes calls Up and returns the nodes. When the test ends, the cluster is reduced to one node.
func (c *Cluster) Nodes(t testing.TB, count int) []Member {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Up(context.Background(), 1); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(t.Context(), count); err != nil {
		t.Fatal(err)
	}
	members, err := c.State.Members()
	if err != nil {
		t.Fatal(err)
	}
	return members
}

func current() (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig, as %s is \"current\": %w", KindVariable, err)
	}
	return &Cluster{Config: config, Kubeconfig: rules.GetDefaultFilename()}, nil
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }
