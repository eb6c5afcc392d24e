package build

import (
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	operatorNamespace = "storagebench-system"
	operatorName      = "storagebench-operator"
	// tokenFile is the path of the service account token in every pod.
	tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // A path.
)

func labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "storagebench", "app.kubernetes.io/component": "operator"}
}

// ServiceMonitor returns the object that makes Prometheus scrape the operator, authenticated by Prometheus' own service
// account token. The labels of the metrics take precedence over those of the scrape target, because the metrics'
// namespace label names the benchmark's namespace, not the operator's.
func ServiceMonitor() *monitoringv1.ServiceMonitor {
	insecure := true
	scheme := monitoringv1.Scheme("https")
	return &monitoringv1.ServiceMonitor{
		TypeMeta:   metav1.TypeMeta{APIVersion: monitoringv1.SchemeGroupVersion.String(), Kind: monitoringv1.ServiceMonitorsKind},
		ObjectMeta: metav1.ObjectMeta{Name: operatorName, Namespace: operatorNamespace, Labels: labels()},
		Spec: monitoringv1.ServiceMonitorSpec{
			Selector: metav1.LabelSelector{MatchLabels: labels()},
			Endpoints: []monitoringv1.Endpoint{{
				Port: "metrics", Path: "/metrics", Scheme: &scheme, HonorLabels: true,
				Interval: "15s", ScrapeTimeout: "10s", BearerTokenFile: tokenFile,
				HTTPConfigWithProxyAndTLSFiles: monitoringv1.HTTPConfigWithProxyAndTLSFiles{
					HTTPConfigWithTLSFiles: monitoringv1.HTTPConfigWithTLSFiles{
						// Do not verify the operator's certificate: by default the operator generates a self-signed
						// one. docs/prometheus.md shows how to use another one.
						TLSConfig: &monitoringv1.TLSConfig{SafeTLSConfig: monitoringv1.SafeTLSConfig{InsecureSkipVerify: &insecure}},
					},
				},
			}},
		},
	}
}
