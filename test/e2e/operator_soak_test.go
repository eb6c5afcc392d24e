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

// scale sets how many operators run in the cluster and waits until it is so.
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

// withoutOperator stops the operator in the cluster, for tests that run their own, until the test is over.
// Such a test must not be parallel: others need an operator.
func (in *installation) withoutOperator(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if err := in.scaleTo(1); err != nil {
			t.Error(err)
		}
	})
	in.scale(t, 0)
}

// holder is the identity of the operator that leads; empty when none does.
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

// process is an operator on this machine, with the rights of the one in the cluster.
type process struct {
	t       *testing.T
	in      *installation
	command *exec.Cmd
	// logFile is what it writes.
	logFile string
	ended   chan struct{}
	once    sync.Once
}

// operate starts an operator on this machine. It ends with the test; what it wrote is told when that fails.
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
	// Pods are next door, whatever proxy this machine uses for the web.
	p.command.Env = append(os.Environ(), "NO_PROXY=*", "no_proxy=*")
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The thread that starts it must live as long: its end is what Pdeathsig looks at.
		runtime.LockOSThread()
		defer log.Close()
		started <- p.command.Start()
		_ = p.command.Wait() // how it ended is in ProcessState
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

// signal sends one, such as SIGSTOP.
func (p *process) signal(signal syscall.Signal) {
	p.t.Helper()
	must(p.t, p.command.Process.Signal(signal))
}

// kill ends it as if its machine lost power: the Lease is not given back.
func (p *process) kill() {
	p.once.Do(func() {
		_ = p.command.Process.Kill() // it may have ended by itself
		<-p.ended
	})
}

// log is all that it has written.
func (p *process) log() string {
	text, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// identity is the name that it takes part in elections with; empty until it has said so.
func (p *process) identity() string {
	_, after, found := strings.Cut(p.log(), `"identity":"`)
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(after, `"`)
	return name
}

// leads waits until it is the leader and says how long that took.
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

// stop ends an operator politely, so that the Lease is given back.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("operator %d does not end", p.command.Process.Pid)
	}
}
