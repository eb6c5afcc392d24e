package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/installation"
	"github.com/storagebench/storagebench/test/hang"
)

func administrator(t *testing.T) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: api.Host, CertificateAuthorityData: api.CAData}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: api.CertData, ClientKeyData: api.KeyData, Token: api.BearerToken}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*config, file))
	return file
}

// TestCheck checks that the command of `helm test` reports which checks pass and which fail.
func TestCheck(t *testing.T) {
	arguments := []string{"--check", "--namespace=" + namespace}
	o := start(t)
	t.Setenv("KUBECONFIG", administrator(t))
	hang.Until(t, "there is a leader", func() bool { return holder(t) != "" })
	labels := map[string]string{"app": "operator"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "storagebench-operator"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "operator", Image: "registry.example/operator:dev"}}}}}}
	must(t, cluster.Create(t.Context(), deployment))
	t.Cleanup(func() { _ = cluster.Delete(context.WithoutCancel(t.Context()), deployment) })
	deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	must(t, cluster.Status().Update(t.Context(), deployment))

	var out bytes.Buffer
	if err := run(t.Context(), arguments, &out, io.Discard); err != nil || strings.Count(out.String(), "ok: ") != 5 {
		t.Errorf("%v\n%s", err, out.String())
	}
	var made v1alpha1.StorageBenchmarkList
	must(t, cluster.List(t.Context(), &made, client.InNamespace(namespace)))
	if len(made.Items) > 0 {
		t.Errorf("the check left benchmark %s behind", made.Items[0].Name)
	}

	// No operator is ready, and there is no leader.
	o.signal(t, syscall.SIGTERM)
	o.exit(t)
	deployment.Status.AvailableReplicas, deployment.Status.ReadyReplicas = 0, 0
	must(t, cluster.Status().Update(t.Context(), deployment))
	out.Reset()
	err := installation.Check(t.Context(), api, namespace, &out, time.Second)
	if err == nil {
		t.Fatalf("the check passes without an operator:\n%s", out.String())
	}
	for _, want := range []string{"all operator replicas are ready: of 1 replicas, 1 are up to date and 0 available", "an operator is leading: the Lease " + namespace + "/storagebench-operator has no holder"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 3 || slices.ContainsFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "ok: ") }) {
		t.Errorf("the passed checks are %q", lines)
	}
}
