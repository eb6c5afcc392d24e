package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/internal/leader"
)

// scale sets the number of operators in the cluster and waits until that many run.
func (in *installation) scale(t testing.TB, count int32) {
	t.Helper()
	must(t, in.scaleTo(count))
}

func (in *installation) scaleTo(count int32) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorDeployment}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, count))
	if err := in.api.Patch(ctx, deployment, patch); err != nil {
		return err
	}
	return in.replicas(ctx, count)
}

// withoutOperator stops the operator in the cluster until the test ends, for tests that run their own. Such a test must
// not be parallel, because others need an operator.
func (in *installation) withoutOperator(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if err := in.scaleTo(1); err != nil {
			t.Error(err)
		}
	})
	in.scale(t, 0)
}

// holder returns the identity of the leading operator, or "" if there is no leader.
func (in *installation) holder(t testing.TB) string {
	t.Helper()
	var lease coordinationv1.Lease
	err := in.api.Get(context.Background(), client.ObjectKey{Namespace: operatorNamespace, Name: leader.LeaseName}, &lease)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// process is an operator on this machine, with the permissions of the one in the cluster.
type process struct {
	t       *testing.T
	in      *installation
	command *exec.Cmd
	// logFile receives the operator's output.
	logFile string
	ended   chan struct{}
	once    sync.Once
}

// operate starts an operator on this machine until the test ends. If the test fails, it logs the operator's output.
func (in *installation) operate(t *testing.T, more ...string) *process {
	t.Helper()
	if !in.Embedded {
		t.Skip("needs to reach pods from this machine, so the cluster of test/cluster")
	}
	folder := t.TempDir()
	p := &process{t: t, in: in, logFile: filepath.Join(folder, "log"), ended: make(chan struct{})}
	log, err := os.Create(p.logFile)
	must(t, err)
	p.command = exec.Command(filepath.Join(in.programs, "operator"), append([]string{
		"--kubeconfig=" + in.operatorKubeconfig(t, folder), "--namespace=" + operatorNamespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0"}, more...)...)
	p.command.Stdout, p.command.Stderr = log, log
	// Connect to pods directly, even if this machine uses a web proxy.
	p.command.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*")
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// Pdeathsig is sent when the thread that started the process ends, so keep that thread.
		runtime.LockOSThread()
		defer log.Close()
		started <- p.command.Start()
		_ = p.command.Wait() // the result is in ProcessState
		close(p.ended)
	}()
	must(t, <-started)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("operator %d:\n%s", p.command.Process.Pid, tail(p.log(), 60))
		}
	})
	return p
}

// operatorKubeconfig writes a kubeconfig for the operator's service account.
func (in *installation) operatorKubeconfig(t *testing.T, folder string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "storagebench-operator"}}
	token := &authenticationv1.TokenRequest{}
	must(t, in.api.SubResource("token").Create(t.Context(), account, token))
	config := clientcmdapi.NewConfig()
	authority := in.Config.CAData
	if len(authority) == 0 && in.Config.CAFile != "" {
		var err error
		authority, err = os.ReadFile(in.Config.CAFile)
		must(t, err)
	}
	config.Clusters["e2e"] = &clientcmdapi.Cluster{Server: in.Config.Host, CertificateAuthorityData: authority}
	config.AuthInfos["e2e"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e"}
	config.CurrentContext = "e2e"
	file := filepath.Join(folder, "kubeconfig")
	must(t, clientcmd.WriteToFile(*config, file))
	return file
}

func (p *process) signal(signal syscall.Signal) {
	p.t.Helper()
	must(p.t, p.command.Process.Signal(signal))
}

// kill ends the operator as a power failure would: without releasing the Lease.
func (p *process) kill() {
	p.once.Do(func() {
		_ = p.command.Process.Kill() // it may have exited already
		<-p.ended
	})
}

// log returns everything that the operator has written so far.
func (p *process) log() string {
	text, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// identity returns the operator's name in leader elections, or "" if it has not logged one yet.
func (p *process) identity() string {
	_, after, found := strings.Cut(p.log(), `"identity":"`)
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(after, `"`)
	return name
}

// leads waits until the operator is the leader and returns how long that took.
func (p *process) leads(patience time.Duration) time.Duration {
	p.t.Helper()
	began := time.Now()
	for {
		if identity := p.identity(); identity != "" && p.in.holder(p.t) == identity {
			return time.Since(began)
		}
		select {
		case <-p.ended:
			p.t.Fatalf("operator %d ended: %s\n%s", p.command.Process.Pid, p.command.ProcessState, tail(p.log(), 20))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(began) > patience {
			p.t.Fatalf("operator %d does not lead after %s; the Lease is held by %q\n%s", p.command.Process.Pid, patience,
				p.in.holder(p.t), tail(p.log(), 20))
		}
	}
}

func tail(text string, lines int) string {
	all := bytes.Split(bytes.TrimSpace([]byte(text)), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}

// stop terminates the operator gracefully, so that it releases the Lease.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("operator %d does not end", p.command.Process.Pid)
	}
}
