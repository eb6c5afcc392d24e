package cluster

import (
	"context"
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// audited sends a request as a pod's service account, and checks that the audit log shows the request and its refusal.
// The log must not contain requests of the administrator.
func (b *bench) audited() {
	b.t.Helper()
	accounts := b.client.CoreV1().ServiceAccounts(probeNamespace)
	token, err := accounts.CreateToken(b.t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	config, err := b.state.restConfig()
	if err != nil {
		b.t.Fatal(err)
	}
	own := rest.AnonymousClientConfig(config)
	own.BearerToken, own.Proxy = token.Status.Token, noProxy
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := client.CoreV1().Secrets(probeNamespace).List(b.t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		b.t.Errorf("a pod's account may list Secrets: %v", err)
	}
	if _, err := b.client.CoreV1().Secrets(probeNamespace).List(b.t.Context(), metav1.ListOptions{}); err != nil {
		b.t.Error(err)
	}
	asked := func(user string) []auditv1.Event {
		var events []auditv1.Event
		if err := b.state.Audit(user, func(event auditv1.Event) { events = append(events, event) }); err != nil {
			b.t.Error(err)
		}
		return events
	}
	b.eventually("the audit log shows what a pod's account was refused", func(context.Context) bool {
		return slices.ContainsFunc(asked("system:serviceaccount:"+probeNamespace+":default"), func(event auditv1.Event) bool {
			return event.Verb == "list" && event.ObjectRef != nil && event.ObjectRef.Resource == "secrets" && event.ObjectRef.Namespace == probeNamespace &&
				event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusForbidden && event.Annotations["authorization.k8s.io/decision"] == "forbid"
		})
	})
	if events := asked("kubernetes-admin"); len(events) > 0 {
		b.t.Errorf("the audit log has %d events of the administrator, such as %+v", len(events), events[0])
	}
}
