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

// KindVariable is the environment variable that says which cluster tests use:
// "embedded", the default, is that of this package; "current" is what the user's
// kubeconfig names, such as one made with kind.
const KindVariable = "CLUSTER"

// Cluster is what tests need to use a cluster.
type Cluster struct {
	Config *rest.Config
	// Kubeconfig is the path of a file for kubectl.
	Kubeconfig string
	// Embedded says that it is the cluster of this package, so that images can
	// be loaded and parts be killed.
	Embedded bool
	// State is that of an embedded cluster.
	State State
}

// Require gives the cluster that tests run on. An embedded one is started unless
// it runs, and stays up for those who come later; `cluster down` ends it. Where
// there is none the test fails with the reason, in one line.
func Require(t testing.TB) *Cluster {
	t.Helper()
	found, err := require()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// require is done once by each test program.
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

// embedded starts the cluster with the command, because process 1 of the node has
// to be a program of ours, and a test program is not.
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

// Up brings an embedded cluster to a number of nodes, and starts nodes that have died.
func (c *Cluster) Up(ctx context.Context, nodes int) error {
	root, err := binaries.RepositoryRoot()
	if err != nil {
		return err
	}
	return upByCommand(ctx, root, c.State, fmt.Sprintf("--nodes=%d", nodes))
}

// Nodes is Up for a test, and returns the nodes. The cluster has one again when the test is over.
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
