package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/monitoring/build"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/test/prometheus"
)

// prometheus starts a Prometheus that scrapes the operator as a service account of the space that may read metrics.
func (s *space) prometheus() *prometheus.Server {
	s.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "prometheus"}}
	s.create(account)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.namespace + "-prometheus"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "storagebench-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: account.Name}},
	}
	must(s.T, s.api.Create(s.Context(), binding))
	s.Cleanup(func() {
		if err := s.api.Delete(context.Background(), binding); client.IgnoreNotFound(err) != nil {
			s.Error(err)
		}
	})
	token := &authenticationv1.TokenRequest{}
	must(s.T, s.api.SubResource("token").Create(s.Context(), account, token))
	rules, err := yaml.Marshal(build.Rules().Spec)
	must(s.T, err)
	monitored := build.ServiceMonitor().Spec.Endpoints[0]
	return prometheus.Start(s.T, fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs:
- job_name: storagebench
  honor_labels: %t
  scheme: %s
  metrics_path: %s
  bearer_token_file: token
  tls_config: {insecure_skip_verify: %t}
  static_configs:
  - targets: [%q]
`, monitored.HonorLabels, strings.ToLower(string(*monitored.Scheme)), monitored.Path, *monitored.TLSConfig.InsecureSkipVerify,
		s.operatorAddress()), map[string][]byte{"token": []byte(token.Status.Token), "rules.yml": rules})
}

// keepsMetrics checks that the operator refuses to serve metrics without a token, with an invalid token, and with the
// token of an account that may not read them.
func (s *space) keepsMetrics() {
	s.Helper()
	token := &authenticationv1.TokenRequest{}
	must(s.T, s.api.SubResource("token").Create(s.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "default"}}, token))
	// Clients cannot verify the operator's self-signed certificate.
	web := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer web.CloseIdleConnections()
	for _, one := range []struct {
		token string
		want  []int
	}{
		{"", []int{http.StatusUnauthorized}},
		// The operator may return the API server's error about an invalid token as its own.
		{"made-up", []int{http.StatusUnauthorized, http.StatusInternalServerError}},
		{token.Status.Token, []int{http.StatusForbidden}},
	} {
		request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, "https://"+s.operatorAddress()+"/metrics", nil)
		must(s.T, err)
		if one.token != "" {
			request.Header.Set("Authorization", "Bearer "+one.token)
		}
		answer, err := web.Do(request)
		must(s.T, err)
		text, err := io.ReadAll(answer.Body)
		must(s.T, errors.Join(err, answer.Body.Close()))
		if !slices.Contains(one.want, answer.StatusCode) || strings.Contains(string(text), "storagebench_") {
			s.Errorf("with the token %.10q it answers %s: %.200s", one.token, answer.Status, text)
		}
	}
}

// restartedInDrain kills the operator in the cluster during the drain, once Prometheus has its counters. The operator
// restarts in the same pod, at the same address.
func (s *space) restartedInDrain(server *prometheus.Server) {
	s.Helper()
	s.until("Prometheus has the counters of the drain", hang, func() bool {
		return len(ask(s, server, fmt.Sprintf(`storagebench_run_bytes_total{namespace=%q, phase="drain"} > 0`, s.namespace))) == 2
	})
	var pods corev1.PodList
	must(s.T, s.api.List(s.Context(), &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/component": "operator"}))
	if len(pods.Items) != 1 {
		s.Fatalf("%d pods of the operator", len(pods.Items))
	}
	must(s.T, syscall.Kill(programOf(s.T, &pods.Items[0], "/storagebench-operator"), syscall.SIGKILL))
	s.forceElection(s.T)
}

// operatorAddress returns the address at which the operator in the cluster serves its metrics.
func (s *space) operatorAddress() string {
	s.Helper()
	var pods corev1.PodList
	must(s.T, s.api.List(s.Context(), &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/component": "operator"}))
	for _, pod := range pods.Items {
		for _, port := range pod.Spec.Containers[0].Ports {
			if port.Name == "metrics" && pod.DeletionTimestamp.IsZero() && pod.Status.PodIP != "" {
				return fmt.Sprintf("%s:%d", pod.Status.PodIP, port.ContainerPort)
			}
		}
	}
	s.Fatal("no pod of the operator has a port named metrics")
	return ""
}

// ask evaluates an expression now.
func ask(s *space, server *prometheus.Server, expression string) []prometheus.Series {
	s.Helper()
	series, err := server.Query(expression, time.Now())
	must(s.T, err)
	return series
}

// sameResults compares the scraped results with the status.
func (s *space) sameResults(t *testing.T, server *prometheus.Server, run *v1alpha1.BenchmarkRun, judged *v1alpha1.StorageBenchmark) {
	t.Helper()
	compared := 0
	same := func(name, labels string, want float64) {
		t.Helper()
		expression := fmt.Sprintf(`storagebench_benchmark_%s{namespace=%q, benchmark="watched"%s}`, name, s.namespace, labels)
		series, err := server.Query(expression, time.Now())
		must(t, err)
		if len(series) != 1 {
			t.Errorf("%s gives %d series, want one", expression, len(series))
			return
		}
		compared++
		near(t, expression, series[0].Last(), want, 1e-6)
	}
	same("last_run_info", fmt.Sprintf(", run=%q, reason=%q", run.Name, judged.Status.LastRun.Reason), 1)
	same("last_run_duration_seconds", "", run.Status.EndTime.Sub(run.Status.StartTime.Time).Seconds())
	same("runs", `, state="Complete"`, 1)
	same("objective_met", `, objective="enough"`, 1)
	for _, phase := range run.Status.Phases {
		for i := range phase.Targets {
			target := &phase.Targets[i]
			place := fmt.Sprintf(", phase=%q, target=%q", phase.Name, target.Target)
			for _, figures := range phasekind.Rates(target) {
				operation := fmt.Sprintf("%s, operation=%q", place, figures.Operation)
				// A drain has only one rate if it found a baseline in only one dimension.
				if figures.BytesPerSecond != nil {
					same("throughput_bytes_per_second", operation, float64(*figures.BytesPerSecond))
				}
				if figures.IOPSMilli != nil {
					same("operations_per_second", operation, float64(*figures.IOPSMilli)/1e3)
				}
				if figures.Latency == nil { // a drain has only rates
					continue
				}
				for percentile, value := range map[string]*int64{"50": figures.Latency.P50Nanoseconds, "99": figures.Latency.P99Nanoseconds} {
					if value != nil { // nil if there were too few operations
						same("latency_seconds", operation+`, percentile="`+percentile+`"`, float64(*value)/1e9)
					}
				}
				same("latency_max_seconds", operation, float64(figures.Latency.MaxNanoseconds)/1e9)
			}
			if burst := target.Burst; burst != nil {
				same("credits_exhausted", place, map[bool]float64{true: 1}[burst.Exhausted])
				if !burst.Exhausted || burst.Bytes == nil || burst.Bytes.Burst == nil || burst.Bytes.Baseline == nil || len(burst.Bytes.Drops) == 0 {
					continue
				}
				same("burst_bytes_per_second", place+`, level="Burst"`, float64(burst.Bytes.Burst.Value))
				same("baseline_bytes_per_second", place, float64(burst.Bytes.Baseline.Value))
				same("credits_spent_bytes", place, float64(burst.Bytes.Drops[len(burst.Bytes.Drops)-1].Spent.Value))
				same("time_to_baseline_seconds", place, float64(burst.NanosecondsToBaseline.Value)/1e9)
			}
		}
	}
	t.Logf("%d figures of Prometheus are those of the status", compared)
}

// dashboards runs every query of every dashboard file and checks that it returns data.
func (s *space) dashboards(t *testing.T, server *prometheus.Server, run *v1alpha1.BenchmarkRun, began time.Time) {
	t.Helper()
	// A drain on a machine that is too busy to load the stores may find no drop, and then has no figures of a drop.
	fell := slices.ContainsFunc(run.Status.Phases, func(phase v1alpha1.PhaseResult) bool {
		return slices.ContainsFunc(phase.Targets, func(target v1alpha1.TargetResult) bool {
			burst := target.Burst
			return burst != nil && burst.Exhausted && burst.Bytes != nil && burst.Bytes.Baseline != nil && len(burst.Bytes.Drops) > 0
		})
	})
	ofDrop := regexp.MustCompile(`_baseline_|_credits_spent_`)
	// A drain has no latencies, and rates only in the dimensions in which it found a drop.
	ofSteady := regexp.MustCompile(`_benchmark_(throughput|operations|latency)_`)
	// The steady phase may have too few operations for a p99.
	many := true
	for _, target := range []string{"small", "large"} {
		for _, figures := range targetOf(s, run, "steady", target).Operations {
			many = many && figures.Latency != nil && figures.Latency.P99Nanoseconds != nil
		}
	}
	files, err := filepath.Glob(filepath.Join(s.root, "config", "monitoring", "dashboards", "*.json"))
	must(t, err)
	if len(files) != 3 {
		t.Fatalf("dashboards %v", files)
	}
	fill := func(expression string) string {
		phase := "drain"
		if ofSteady.MatchString(expression) {
			phase = "steady"
		}
		return strings.NewReplacer("$namespace", s.namespace, "$benchmark", "watched", "$run", run.Name, "$phase", phase, "$__rate_interval", "5s").Replace(expression)
	}
	asked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		var board build.Dashboard
		must(t, json.Unmarshal(text, &board))
		for _, panel := range board.Panels {
			for _, target := range panel.Targets {
				expression := fill(target.Expr)
				if strings.Contains(expression, "$") {
					t.Errorf("%s, %s: %s has an unknown variable", board.Title, panel.Title, expression)
				}
				// End shortly after now, to include the newest second.
				series, err := server.Range(expression, began, time.Now().Add(2*time.Second))
				if err != nil {
					t.Errorf("%s, %s: %v", board.Title, panel.Title, err)
					continue
				}
				asked++
				if len(series) == 0 && (fell || !ofDrop.MatchString(expression)) && (many || !strings.Contains(expression, `percentile="99"`)) {
					t.Errorf("%s, %s has no data: %s", board.Title, panel.Title, expression)
				}
			}
		}
	}
	t.Logf("%d queries have data", asked)
}

// evaluated checks that Prometheus evaluates every alert on the scraped data without errors.
func evaluated(t *testing.T, server *prometheus.Server) {
	t.Helper()
	var told struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	must(t, server.Get("rules", &told))
	healthy := 0
	for _, group := range told.Groups {
		for _, rule := range group.Rules {
			if rule.Health != "ok" {
				t.Errorf("alert %s is %s: %s", rule.Name, rule.Health, rule.LastError)
				continue
			}
			healthy++
		}
	}
	if healthy != len(build.Alerts()) {
		t.Errorf("%d of %d alerts are evaluated", healthy, len(build.Alerts()))
	}
}

// near fails the test if got differs from want by more than percent.
func near(t *testing.T, what string, got, want, percent float64) {
	t.Helper()
	if math.Abs(got-want) > math.Abs(want)*percent/100 {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// forceElection deletes the Lease, as an administrator would who does not want to wait until the Lease of a dead leader
// expires (leader.LeaseDuration).
func (in *installation) forceElection(t testing.TB) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: leader.LeaseName}}
	if err := in.api.Delete(context.Background(), lease); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}
