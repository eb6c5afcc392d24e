package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// kubectlCommand returns a kubectl command for the demo's cluster.
func (d *demo) kubectlCommand(ctx context.Context, arguments ...string) *exec.Cmd {
	command := d.command(ctx, d.kubectl, arguments...)
	command.Env = d.environment()
	return command
}

// environment returns the environment of programs that talk to the cluster. The cluster is on this machine, so they
// must not use the proxy that this machine uses for the web.
func (d *demo) environment() []string {
	return append(os.Environ(), "KUBECONFIG="+d.kubeconfig, "NO_PROXY=*", "no_proxy=*")
}

// kubectlRun runs kubectl. It shows the command as a user would type it, and its output.
func (d *demo) kubectlRun(ctx context.Context, arguments ...string) error {
	d.show("kubectl", arguments)
	command := d.kubectlCommand(ctx, arguments...)
	command.Stdout, command.Stderr = d.out, os.Stderr
	return failure(command.Run(), "kubectl", "")
}

func (d *demo) install(ctx context.Context) error {
	if err := d.kubectlRun(ctx, "apply", "--server-side", "--force-conflicts", "-f", "bin/install.yaml"); err != nil {
		return err
	}
	if err := d.restart(ctx); err != nil {
		return err
	}
	return d.available(ctx)
}

// available waits until the newest version of the operator is ready.
func (d *demo) available(ctx context.Context) error {
	err := d.kubectlRun(ctx, "-n", operatorNamespace, "rollout", "status", "deployment/storagebench-operator", "--timeout=3m")
	if err != nil && ctx.Err() == nil {
		d.look(ctx, "-n", operatorNamespace, "get", "pods")
		d.look(ctx, "-n", operatorNamespace, "get", "events", "--field-selector=type!=Normal")
		d.look(ctx, "-n", operatorNamespace, "logs", "deployment/storagebench-operator", "--tail=20")
		return fmt.Errorf("the operator did not become available: %w", err)
	}
	return err
}

// restart annotates the Deployment with the ID of the loaded image, so that a new image causes a rollout. Images
// built from different modifications of a commit have the same name, so without the annotation the cluster would not
// notice a new image.
func (d *demo) restart(ctx context.Context) error {
	id, err := os.ReadFile("bin/images/operator.id")
	if err != nil {
		return fmt.Errorf("read the ID of the operator's image: %w", err)
	}
	annotation := map[string]string{"storagebench.dev/image-id": strings.TrimSpace(string(id))}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotation}}}})
	if err != nil {
		return fmt.Errorf("write a patch: %w", err)
	}
	command := d.kubectlCommand(ctx, "-n", operatorNamespace, "patch", "deployment", "storagebench-operator", "--patch", string(patch))
	out, err := command.CombinedOutput()
	return failure(err, "kubectl patch", string(out))
}

// look runs kubectl and shows its output, to help find the cause of a failure. If kubectl fails, look only prints the
// error.
func (d *demo) look(ctx context.Context, arguments ...string) {
	if err := d.kubectlRun(ctx, arguments...); err != nil {
		d.say("%v", err)
	}
}
