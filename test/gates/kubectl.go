package gates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/storagebench/storagebench/test/binaries"
)

// Kubectl is a kubectl that talks to one API server.
type Kubectl struct {
	// Folder contains kubectl under that name, for PATH.
	Folder string
	// Kubeconfig is the path of its kubeconfig.
	Kubeconfig string
}

// NewKubectl returns a kubectl, built if necessary, that talks to an API server as the user of the config. It puts the
// files that kubectl needs into the folder.
func NewKubectl(ctx context.Context, config *rest.Config, folder string) (Kubectl, error) {
	programs, err := binaries.Build(ctx, io.Discard, binaries.Kubectl)
	if err != nil {
		return Kubectl{}, fmt.Errorf("build kubectl: %w", err)
	}
	made := Kubectl{Folder: folder, Kubeconfig: filepath.Join(folder, "kubeconfig")}
	if err := os.Symlink(programs[binaries.Kubectl], filepath.Join(folder, "kubectl")); err != nil {
		return Kubectl{}, fmt.Errorf("put kubectl into the folder: %w", err)
	}
	const name = "test"
	all := api.NewConfig()
	all.Clusters[name] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	all.AuthInfos[name] = &api.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
		Impersonate: config.Impersonate.UserName, ImpersonateGroups: config.Impersonate.Groups}
	all.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	all.CurrentContext = name
	if err := clientcmd.WriteToFile(*all, made.Kubeconfig); err != nil {
		return Kubectl{}, fmt.Errorf("write a kubeconfig: %w", err)
	}
	return made, nil
}

// Command returns a command that finds this kubectl in its PATH and its API server in KUBECONFIG.
func (k Kubectl) Command(ctx context.Context, program string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Env = append(os.Environ(), "KUBECONFIG="+k.Kubeconfig, "PATH="+k.Folder+":"+os.Getenv("PATH"))
	return command
}

// Ready asks kubectl wait, without waiting, whether a benchmark is Ready.
func (k Kubectl) Ready(ctx context.Context, namespace, name string) (bool, error) {
	output, err := k.Command(ctx, filepath.Join(k.Folder, "kubectl"), "--namespace="+namespace, "wait", "storagebenchmark/"+name, "--for=condition=Ready", "--timeout=0").CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &exit) && isTimeout(string(output)):
		return false, nil
	}
	return false, fmt.Errorf("kubectl wait: %w: %s", err, output)
}

// isTimeout reports whether kubectl found the object, but its condition was not met.
func isTimeout(output string) bool {
	return strings.Contains(output, "timed out waiting for the condition") || strings.Contains(output, "condition not met")
}
