package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/images/fio"
	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/operator"
	"github.com/storagebench/storagebench/images/packaged"
	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/soak"
)

const (
	// versionVariable names the version of the images in a user's own cluster.
	versionVariable = "E2E_VERSION"
	// ownVersion is the version of everything that the tests build.
	ownVersion = "e2e"

	operatorNamespace  = "storagebench-system"
	operatorDeployment = "storagebench-operator"

	// spaceLabel marks the namespaces of these tests.
	spaceLabel = "storagebench.dev/e2e"
)

// installation is a cluster with storagebench in it.
type installation struct {
	*cluster.Cluster
	api     client.WithWatch
	clients kubernetes.Interface

	// root is the root of the repository, and programs is the folder with the built operator.
	root, programs string
	// version is that of the images.
	version string
}

// installStep is an action before the first test. what describes it in errors.
type installStep struct {
	what string
	do   func(context.Context) error
}

// made is the installation of this test program. install completes it.
var made *installation

var install = sync.OnceValues(func() (*installation, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	in := made
	steps := []installStep{
		{"connect to the cluster", in.connect},
		{"build the programs", in.build},
		{"make and load the images", in.load},
		{"remove what a killed test has left", in.sweep},
	}
	byManifests := []installStep{
		{"apply the manifests", in.apply},
		{"wait for the operator", func(ctx context.Context) error { return in.replicas(ctx, 1) }},
	}
	// Soak tests share this operator. TestCore installs one by the chart.
	if soak.Enabled() {
		steps = append(steps, byManifests...)
	}
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return in, nil
})

// require returns the cluster, prepared for the tests. The first call builds and loads the images and, in a soak,
// installs the operator.
func require(t testing.TB) *installation {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a Kubernetes cluster, which -short leaves out")
	}
	found := cluster.Require(t)
	installing.Lock()
	defer installing.Unlock()
	if made == nil {
		made = &installation{Cluster: found}
	}
	in, err := install()
	must(t, err)
	return in
}

var installing sync.Mutex

// requireNode is for tests that need the node's machine, for example to look at the files of volumes, to mount
// something, or to reach pods.
func requireNode(t testing.TB) *installation {
	t.Helper()
	in := require(t)
	if !in.Embedded {
		t.Skip("needs the machine of the node, so the cluster of test/cluster")
	}
	return in
}

func (in *installation) connect(context.Context) error {
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(kinds); err != nil {
			return err
		}
	}
	in.Config.QPS, in.Config.Burst = 200, 400
	var err error
	if in.api, err = client.NewWithWatch(in.Config, client.Options{Scheme: kinds}); err != nil {
		return err
	}
	in.clients, err = kubernetes.NewForConfig(in.Config)
	return err
}

func (in *installation) build(ctx context.Context) error {
	var err error
	if in.root, err = binaries.RepositoryRoot(); err != nil {
		return err
	}
	if in.version = os.Getenv(versionVariable); in.version == "" {
		if !in.Embedded {
			return fmt.Errorf("%s is empty: it has to be the version of the images that this cluster has", versionVariable)
		}
		in.version = ownVersion
	}
	// Keep the programs, so that the next test run does not link them again.
	in.programs = filepath.Join(in.root, "bin", "e2e")
	return in.compile(ctx, in.version, in.programs)
}

// compile builds the programs with a version.
func (in *installation) compile(ctx context.Context, version, folder string, flags ...string) error {
	for _, program := range []string{"operator", "agent"} {
		command := exec.CommandContext(ctx, "go", append(append([]string{"build", "-trimpath", "-ldflags",
			"-s -w -X github.com/storagebench/storagebench/internal/version.stamped=" + version}, flags...),
			"-o", filepath.Join(folder, program), "./cmd/"+program)...)
		command.Dir = in.root
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", program, err, output)
		}
	}
	return nil
}

// archive returns the path of an image. The image's ID is in a file beside it.
func (in *installation) archive(name string) string { return filepath.Join(in.programs, name+".tar") }

// load builds the images and loads those that the node lacks.
func (in *installation) load(ctx context.Context) error {
	if !in.Embedded {
		return nil
	}
	created, err := image.Time()
	if err != nil {
		return err
	}
	cache, err := image.CacheFolder()
	if err != nil {
		return err
	}
	if err := in.loadOperator(ctx, "operator", in.version, in.programs); err != nil {
		return err
	}
	var output bytes.Buffer
	ofFio, err := fio.Make(ctx, packaged.Options{Version: in.version, Cache: cache, Progress: &output, Created: created})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, &output)
	}
	return in.loadImage(ctx, "fio", ofFio)
}

// loadOperator builds the operator's image from the programs of a version, and loads it.
func (in *installation) loadOperator(ctx context.Context, name, version, programs string) error {
	created, err := image.Time()
	if err != nil {
		return err
	}
	cache, err := image.CacheFolder()
	if err != nil {
		return err
	}
	licence, err := os.ReadFile(filepath.Join(in.root, "LICENSE"))
	if err != nil {
		return err
	}
	var output bytes.Buffer
	built, err := operator.Make(ctx, operator.Options{Programs: programs, Licence: licence,
		Options: packaged.Options{Version: version, Cache: cache, Progress: &output, Created: created}})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, &output)
	}
	return in.loadImage(ctx, name, built)
}

func (in *installation) loadImage(ctx context.Context, name string, built image.Image) error {
	id, err := built.Write(in.archive(name))
	if err != nil {
		return err
	}
	if err := os.WriteFile(in.archive(name)+".id", []byte(id), 0o644); err != nil {
		return err
	}
	_, err = in.State.LoadImage(ctx, io.Discard, in.archive(name))
	return err
}

// sweep removes the namespaces that killed test programs left.
func (in *installation) sweep(ctx context.Context) error {
	var left corev1.NamespaceList
	if err := in.api.List(ctx, &left, client.HasLabels{spaceLabel}); err != nil {
		return err
	}
	for i := range left.Items {
		if err := in.api.Delete(ctx, &left.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// apply installs the output of `make manifests`, with metrics that can be reached from outside.
func (in *installation) apply(ctx context.Context) error {
	manifests, err := render.Folder(os.DirFS(filepath.Join(in.root, "config")), render.Metrics, in.version)
	if err != nil {
		return err
	}
	var problems []error
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, object); err != nil {
			return err
		}
		if object.GetKind() == "Deployment" {
			if err := in.nameImage(object); err != nil {
				return err
			}
		}
		err := in.api.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("e2e"), client.ForceOwnership)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(problems...)
}

// nameImage puts the image's ID into the Deployment's template. Its pods are then replaced when the image changes but
// not its name.
func (in *installation) nameImage(deployment *unstructured.Unstructured) error {
	id, err := os.ReadFile(in.archive("operator") + ".id")
	if err != nil && in.Embedded {
		return err
	}
	return unstructured.SetNestedField(deployment.Object, strings.TrimSpace(string(id)),
		"spec", "template", "metadata", "annotations", "storagebench.dev/image-id")
}

// replicas waits until the Deployment has exactly count pods, all ready and of the current template.
func (in *installation) replicas(ctx context.Context, count int32) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		var deployment appsv1.Deployment
		err := in.api.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorDeployment}, &deployment)
		if err != nil {
			return err
		}
		var pods corev1.PodList
		err = in.api.List(ctx, &pods, client.InNamespace(operatorNamespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels))
		if err != nil {
			return err
		}
		status := deployment.Status
		if status.ObservedGeneration >= deployment.Generation && status.UpdatedReplicas == count &&
			status.AvailableReplicas == count && len(pods.Items) == int(count) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the operator's Deployment has not %d ready pods but %d of %d, and pods %s\n%s",
				count, status.AvailableReplicas, status.Replicas, podLines(pods.Items), in.operatorLog(30))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// operatorLog returns the last log lines of the operators in the cluster.
func (in *installation) operatorLog(lines int64) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var pods corev1.PodList
	if err := in.api.List(ctx, &pods, client.InNamespace(operatorNamespace)); err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, pod := range pods.Items {
		log, err := in.clients.CoreV1().Pods(operatorNamespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: &lines}).DoRaw(ctx)
		if err != nil {
			log = []byte(err.Error())
		}
		fmt.Fprintf(&text, "--- log of %s\n%s\n", pod.Name, log)
	}
	return text.String()
}

// nodeFile returns the path on this machine of a path in the node.
func (in *installation) nodeFile(path string) (string, error) {
	pid, err := in.State.NodePID()
	if err != nil {
		return "", err
	}
	return filepath.Join("/proc", strconv.Itoa(pid), "root", path), nil
}

// inNode runs a command in the mount, PID and network namespaces of the node.
func (in *installation) inNode(ctx context.Context, arguments ...string) ([]byte, error) {
	pid, err := in.State.NodePID()
	if err != nil {
		return nil, err
	}
	output, err := exec.CommandContext(ctx, "nsenter", append([]string{
		"--target=" + strconv.Itoa(pid), "--mount", "--net", "--pid", "--ipc", "--uts", "--"}, arguments...)...).CombinedOutput()
	if err != nil {
		return output, fmt.Errorf("%s: %w: %s", strings.Join(arguments, " "), err, output)
	}
	return output, nil
}
