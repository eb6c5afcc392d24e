package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/internal/installation"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/controlplane"
	"github.com/storagebench/storagebench/test/hang"
)

const (
	// asOperator is the environment variable that makes the test binary run as the operator.
	asOperator = "STORAGEBENCH_TEST_OPERATOR"
	namespace  = "storagebench-system"
)

var (
	// api is the administrator's configuration for this package's API server, on which everything except the Deployment is
	// installed. It is nil with -short.
	api *rest.Config
	// cluster is an administrator's client without a cache.
	cluster client.Client
)

func TestMain(m *testing.M) {
	if os.Getenv(asOperator) != "" {
		main()
		return
	}
	controlplane.Main(m, func(administrator *rest.Config) (int, error) {
		if err := install(administrator); err != nil {
			return 1, err
		}
		return m.Run(), nil
	})
}

// install applies the manifests except the CRDs, which are installed already, and the Deployment, which nothing would
// run.
func install(config *rest.Config) error {
	api = config
	var err error
	if cluster, err = client.New(config, client.Options{Scheme: controlplane.Scheme()}); err != nil {
		return err
	}
	manifests, err := render.Folder(os.DirFS("../../config"), render.Default, "")
	if err != nil {
		return err
	}
	for document := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, object); err != nil {
			return err
		}
		if kind := object.GetKind(); kind == "CustomResourceDefinition" || kind == "Deployment" {
			continue
		}
		if err := cluster.Create(context.Background(), object); err != nil {
			return err
		}
	}
	return nil
}

type operator struct {
	command *exec.Cmd
	health  string

	mutex sync.Mutex
	log   []string
	ended chan error
}

// start runs an operator with exactly the permissions that the manifests grant.
func start(t *testing.T, more ...string) *operator {
	t.Helper()
	return startAs(t, namespace, more...)
}

// startAs is like start, for an operator that is installed in the given namespace.
func startAs(t *testing.T, own string, more ...string) *operator {
	t.Helper()
	o := &operator{health: freeAddress(t), ended: make(chan error, 1)}
	arguments := append([]string{"--kubeconfig=" + kubeconfig(t, own), "--namespace=" + own,
		"--metrics-bind-address=0", "--health-probe-bind-address=" + o.health}, more...)
	o.command = exec.Command(os.Args[0], arguments...)
	o.command.Env = append(os.Environ(), asOperator+"=yes")
	output, err := o.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			o.mutex.Lock()
			o.log = append(o.log, lines.Text())
			o.mutex.Unlock()
		}
		o.ended <- o.command.Wait()
	}()
	t.Cleanup(func() {
		_ = o.command.Process.Kill()
		<-o.ended //nolint:errcheck // it was killed
		if t.Failed() {
			t.Logf("operator %d:\n%s", o.command.Process.Pid, strings.Join(o.lines(), "\n"))
		}
	})
	return o
}

func (o *operator) lines() []string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return append([]string(nil), o.log...)
}

func (o *operator) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := o.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

func (o *operator) exit(t *testing.T) int {
	t.Helper()
	select {
	case err := <-o.ended:
		o.ended <- err // for the cleanup
		var failure *exec.ExitError
		switch {
		case err == nil:
			return 0
		case errors.As(err, &failure):
			return failure.ExitCode()
		}
		t.Fatal(err)
	case <-time.After(hang.Guard):
		t.Fatal("hung: the operator does not end")
	}
	return -1
}

// kubeconfig returns a kubeconfig for the service account of the operator in the given namespace.
func kubeconfig(t *testing.T, own string) string {
	t.Helper()
	if api == nil {
		t.Skip("needs an API server, which -short leaves out")
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: "storagebench-operator"}}
	token := &authenticationv1.TokenRequest{}
	if err := cluster.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: api.Host, CertificateAuthorityData: api.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	found := &coordinationv1.Lease{}
	err := cluster.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: leader.LeaseName}, found)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return found
}

func holder(t *testing.T) string {
	t.Helper()
	if found := lease(t); found.Spec.HolderIdentity != nil {
		return *found.Spec.HolderIdentity
	}
	return ""
}

func TestOperatorWithItsOwnRights(t *testing.T) {
	o := start(t)
	hang.Until(t, "there is a leader", func() bool { return holder(t) != "" })

	profile := builders.Profile("default", "judged", builders.Fio())
	if err := cluster.Create(t.Context(), profile); err != nil {
		t.Fatal(err)
	}
	hang.Until(t, "the profile is judged", func() bool {
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(profile), profile); err != nil {
			t.Fatal(err)
		}
		return meta.IsStatusConditionTrue(profile.Status.Conditions, v1alpha1.ConditionReady)
	})
	makesPodsIn(t, "default")
	secret := &corev1.Secret{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: installation.MasterSecret}, secret); err != nil {
		t.Error(err)
	}
	for _, check := range []string{"healthz", "readyz"} {
		answer, err := http.Get("http://" + o.health + "/" + check)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", check, answer.Status)
		}
	}

	o.signal(t, syscall.SIGTERM)
	if code := o.exit(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM", code)
	}
	if left := holder(t); left != "" {
		t.Errorf("the Lease is still held by %s after its graceful exit, so the next leader must wait", left)
	}
	for _, line := range o.lines() {
		if strings.Contains(line, "forbidden") {
			t.Errorf("the manifests lack a right: %s", line)
		}
		if strings.Contains(line, "is not cached") {
			t.Errorf("a kind is read that is not watched: %s", line)
		}
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry["msg"] == nil || entry["level"] == nil {
			t.Errorf("not a line of the log: %s", line)
		}
		if strings.Contains(line, string(secret.Data[installation.MasterKey])) {
			t.Error("the log contains the master key")
		}
	}
}

// makesPodsIn creates a benchmark, waits until it reports that its claim is missing, creates the claim, and waits until
// the pods of its run exist. Nothing runs these pods.
func makesPodsIn(t *testing.T, space string) {
	t.Helper()
	benchmark := builders.Benchmark("quick").Target("data").Clients(2).Prepare("layout").Obj()
	benchmark.Namespace = space
	if err := cluster.Create(t.Context(), benchmark); err != nil {
		t.Fatal(err)
	}
	hang.Until(t, "the claim is missed", func() bool {
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(benchmark), benchmark); err != nil {
			t.Fatal(err)
		}
		ready := meta.FindStatusCondition(benchmark.Status.Conditions, v1alpha1.ConditionReady)
		return ready != nil && ready.Reason == v1alpha1.ReasonClaimNotFound
	})
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if err := cluster.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	hang.Until(t, "the run has its pods", func() bool {
		var pods corev1.PodList
		err := cluster.List(t.Context(), &pods, client.InNamespace(space), client.MatchingLabels{v1alpha1.LabelBenchmark: "quick"})
		if err != nil {
			t.Fatal(err)
		}
		return len(pods.Items) == 2
	})
}

// TestLeaderThatStandsStill checks that a leader exits if another operator took over while it was paused.
func TestLeaderThatStandsStill(t *testing.T) {
	first := start(t)
	hang.Until(t, "the first leads", func() bool { return holder(t) != "" })
	before := lease(t)
	second := start(t)
	hang.Until(t, "the second stands by", func() bool {
		answer, err := http.Get("http://" + second.health + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})

	// Pause the leader midway between two renewals. Paused during a renewal, it would notice the failed request before the
	// new leader, and report that instead.
	hang.Until(t, "the first is between two renewals", func() bool {
		renewed := lease(t).Spec.RenewTime
		age := time.Since(renewed.Time) //nolint:forbidigo // a state to wait for, not a verdict
		return !renewed.Equal(before.Spec.RenewTime) && age > leader.RetryPeriod/3 && age < leader.RetryPeriod*2/3
	})
	first.signal(t, syscall.SIGSTOP)
	old := *before.Spec.HolderIdentity
	hang.Until(t, "the second takes over", func() bool { return holder(t) != old })
	taken := holder(t)
	first.signal(t, syscall.SIGCONT)
	if code := first.exit(t); code != 1 {
		t.Errorf("exit code %d of the former leader, want 1", code)
	}
	// The reason for the exit is the new leader, not an overdue renewal. Other components may still log after it.
	if !slices.Contains(first.lines(), "error: "+errTakenOver.Error()) {
		t.Errorf("it does not say why: %s", strings.Join(first.lines(), "\n"))
	}
	if now := holder(t); now != taken {
		t.Errorf("the Lease went from %s to %q when the old leader woke up", taken, now)
	}
	second.signal(t, syscall.SIGTERM)
	if code := second.exit(t); code != 0 {
		t.Errorf("exit code %d of the second after SIGTERM", code)
	}
}

func TestStartErrorsAreOneLineWithTheRemedy(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      []string
	}{
		"the key cannot be read":  {[]string{"--namespace=default"}, []string{"default/" + installation.MasterSecret, "forbidden"}},
		"no such file":            {[]string{"--kubeconfig=/nowhere"}, []string{"--kubeconfig", "/nowhere"}},
		"the address is not free": {[]string{"--health-probe-bind-address=" + busyAddress(t)}, []string{"address already in use"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := start(t, test.arguments...)
			if code := o.exit(t); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			lines := o.lines()
			last := lines[len(lines)-1]
			if !strings.HasPrefix(last, "error: ") {
				t.Errorf("the last line is %q", last)
			}
			for _, want := range test.want {
				if !strings.Contains(last, want) {
					t.Errorf("%q is not in: %s", want, last)
				}
			}
		})
	}
}

func busyAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}
