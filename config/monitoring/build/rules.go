package build

import (
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Alert is one alerting rule.
type Alert struct {
	Name, Expression string
	// For is the time for which the expression must be true before the alert fires. If it is empty, the alert fires
	// immediately.
	For         monitoringv1.Duration
	Severity    string
	Summary     string
	Description string
}

// Alerts returns all alerts, in the order in which the PrometheusRule lists them.
func Alerts() []Alert {
	const of = "{{ $labels.namespace }}/{{ $labels.benchmark }}"
	return []Alert{
		{
			Name: "StorageBenchmarkRunFailed", Severity: "warning",
			Expression: `storagebench_benchmark_last_run_info{reason!~"Passed|RunInvalid|ObjectiveMissed|FigureAbsent|Regressed|Stopped|Replaced|Preempted|NotJudged"} == 1`,
			Summary:    "The newest run of " + of + " failed.",
			Description: "Run {{ $labels.run }} ended without complete results: {{ $labels.reason }}. " +
				"For details: kubectl -n {{ $labels.namespace }} describe benchmarkrun {{ $labels.run }}",
		},
		{
			Name: "StorageBenchmarkRunInvalid", Severity: "warning",
			Expression: `storagebench_benchmark_last_run_info{reason="RunInvalid"} == 1`,
			Summary:    "The newest run of " + of + " is invalid.",
			Description: "A warning disqualifies the results of run {{ $labels.run }}, so they are not exported. " +
				"The run's Valid condition names the warning.",
		},
		{
			// An objective without a figure counts as missed but has no objective_met series. The alert then fires on the
			// run's verdict and has no objective label.
			Name: "StorageBenchmarkObjectiveMissed", Severity: "warning",
			Expression: `storagebench_benchmark_objective_met == 0
  or on (namespace, benchmark) storagebench_benchmark_last_run_info{reason="ObjectiveMissed"} == 1`,
			Summary: of + "{{ with $labels.objective }} missed its objective {{ . }}{{ else }} has no figure for an objective{{ end }}.",
			Description: "{{ if $labels.objective }}A figure of the newest evaluated run is out of bounds." +
				"{{ else }}Run {{ $labels.run }} lacks a figure, so an objective counts as not met.{{ end }} " +
				"See status.objectives of the benchmark.",
		},
		{
			Name: "StorageBenchmarkRegressed", Severity: "warning",
			Expression:  `storagebench_benchmark_regressed == 1`,
			Summary:     of + " regressed.",
			Description: "The newest runs are significantly worse than earlier runs, and the difference exceeds the tolerance. See the benchmark's status.regression for the figure, the change and the first regressed run.",
		},
		{
			Name: "StorageBenchmarkRunOverdue", Severity: "warning", For: "10m",
			Expression: `time() - storagebench_benchmark_next_schedule_timestamp_seconds > 900
  and on (namespace, benchmark) storagebench_benchmark_suspended == 0
  unless on (namespace, benchmark) storagebench_benchmark_runs{state=~"Live|Waiting"} > 0`,
			Summary:     "A scheduled run of " + of + " has not started.",
			Description: "The run was due {{ $value | humanizeDuration }} ago, but the benchmark has no live or waiting run. See the benchmark's conditions.",
		},
		{
			Name: "StorageBenchmarkRunStuck", Severity: "warning", For: "10m",
			Expression:  `time() - storagebench_run_deadline_timestamp_seconds > 60`,
			Summary:     "Run {{ $labels.run }} of " + of + " is stuck.",
			Description: "The run is {{ $value | humanizeDuration }} past the deadline for starting, completing a step or finishing. See the run's status.stage and status.message. To stop the run, delete it.",
		},
		{
			Name: "StorageBenchmarkLimitsFaulty", Severity: "warning", For: "10m",
			Expression: `storagebench_limits_catalog_valid == 0`,
			Summary:    "The ConfigMap of documented limits is invalid or cannot be read.",
			Description: "The operator still uses the last valid limits. For the error, see the operator's log or, if the ConfigMap is " +
				"invalid, the events of the ConfigMap.",
		},
		{
			Name: "StorageBenchmarkOperatorDown", Severity: "warning", For: "10m",
			Expression:  `absent(storagebench_operator_leader == 1)`,
			Summary:     "No storagebench operator is the leader.",
			Description: "Prometheus sees no leading operator. No runs are started, and live runs stop after their current step. Check the operator's pods.",
		},
	}
}

// Rules returns the alerts as a PrometheusRule.
func Rules() *monitoringv1.PrometheusRule {
	group := monitoringv1.RuleGroup{Name: "storagebench"}
	for _, alert := range Alerts() {
		rule := monitoringv1.Rule{
			Alert: alert.Name, Expr: intstr.FromString(alert.Expression),
			Labels:      map[string]string{"severity": alert.Severity},
			Annotations: map[string]string{"summary": alert.Summary, "description": alert.Description},
		}
		if alert.For != "" {
			rule.For = &alert.For
		}
		group.Rules = append(group.Rules, rule)
	}
	return &monitoringv1.PrometheusRule{
		TypeMeta:   metav1.TypeMeta{APIVersion: monitoringv1.SchemeGroupVersion.String(), Kind: monitoringv1.PrometheusRuleKind},
		ObjectMeta: metav1.ObjectMeta{Name: operatorName, Namespace: operatorNamespace, Labels: labels()},
		Spec:       monitoringv1.PrometheusRuleSpec{Groups: []monitoringv1.RuleGroup{group}},
	}
}
