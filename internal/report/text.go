package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// absent stands where there is no figure.
const absent = "-"

// Text writes a run for people: the verdict first, then the figures, then what is wrong with them.
func Text(w io.Writer, document Document) error {
	var b strings.Builder
	headline(&b, document)
	environment(&b, document)
	phases(&b, document)
	warnings(&b, document)
	losses(&b, document)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func headline(b *strings.Builder, d Document) {
	fmt.Fprintf(b, "%s  %s\n", d.Benchmark, verdict(d))
	if failed := condition(d, v1alpha1.ConditionFailed); failed != nil && failed.Status == metav1.ConditionTrue {
		fmt.Fprintf(b, "  %s: %s\n", failed.Reason, failed.Message)
	}
	if valid := condition(d, v1alpha1.ConditionValid); valid != nil && valid.Status == metav1.ConditionFalse {
		fmt.Fprintf(b, "  not valid, %s: %s\n", valid.Reason, valid.Message)
	}
	fmt.Fprintf(b, "  run %s", d.Run)
	if d.StartTime != nil {
		fmt.Fprintf(b, ", %s", d.StartTime.UTC().Format("2006-01-02 15:04:05 UTC"))
		if d.EndTime != nil {
			fmt.Fprintf(b, ", took %s", d.EndTime.Sub(d.StartTime.Time).Round(100*time.Millisecond))
		}
	}
	b.WriteString("\n")
}

// verdict is a few words that say how far the run can be believed.
func verdict(d Document) string {
	complete := condition(d, v1alpha1.ConditionComplete)
	failed := condition(d, v1alpha1.ConditionFailed)
	valid := condition(d, v1alpha1.ConditionValid)
	var words []string
	switch {
	case failed != nil && failed.Status == metav1.ConditionTrue:
		words = append(words, "FAILED")
	case complete != nil && complete.Status == metav1.ConditionTrue:
		words = append(words, "complete")
	default:
		words = append(words, "not finished: "+cmp.Or(d.Stage, "unknown"))
	}
	if valid != nil {
		switch valid.Status {
		case metav1.ConditionTrue:
			words = append(words, "valid")
		case metav1.ConditionFalse:
			words = append(words, "NOT VALID")
		case metav1.ConditionUnknown:
			words = append(words, "no result")
		}
	}
	return strings.Join(words, ", ")
}

func environment(b *strings.Builder, d Document) {
	for _, e := range d.Environments {
		fmt.Fprintf(b, "  target %s: %s, %s", e.Target, plural(int(e.Clients), "client"), cmp.Or(e.ToolVersion, string(e.Engine)))
		for _, volume := range e.Volumes {
			fmt.Fprintf(b, ", %s on %s (%s free)", cmp.Or(volume.FileSystem, "unknown file system"),
				cmp.Or(volume.Source, "an unknown device"), measure.FormatBytes(uint64(max(volume.FreeBytes, 0))))
		}
		fmt.Fprintf(b, ", Linux %s, %d CPUs\n", e.Kernel, (e.CPUMilli+999)/1000)
	}
}

func phases(b *strings.Builder, d Document) {
	if len(d.Phases) == 0 {
		b.WriteString("\n  no phase has a result\n")
		return
	}
	b.WriteString("\n")
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.TabIndent)
	fmt.Fprintln(table, "PHASE\tTARGET\tCLIENTS\tOPERATION\tTHROUGHPUT\tIOPS\tMEAN\tP50\tP95\tP99\tP99.9\tMAX\t")
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			for _, operation := range target.Operations {
				fmt.Fprintln(table, strings.Join(append([]string{
					phase.Name, target.Target, fmt.Sprint(target.Clients), string(operation.Operation),
				}, figures(operation)...), "\t")+"\t")
			}
		}
	}
	_ = table.Flush()
	b.WriteString("\n  MB is 10^6 bytes. Throughput and IOPS: what was completed while every client ran, over that time;\n" +
		"  of prepare: everything, from the first start to the last end. Latency: submission to completion, of\n" +
		"  all clients' operations together; \"-\" is a percentile with fewer than ten samples above it.\n")
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			spread(b, phase, target)
		}
	}
}

func figures(o v1alpha1.OperationResult) []string {
	row := []string{absent, absent, absent, absent, absent, absent, absent, absent}
	if o.BytesPerSecond != nil {
		row[0] = measure.FormatBytesPerSecond(float64(*o.BytesPerSecond))
	}
	if o.IOPSMilli != nil {
		row[1] = strings.TrimSuffix(measure.FormatOperationsPerSecond(float64(*o.IOPSMilli)/1000), " IOPS")
	}
	if l := o.Latency; l != nil {
		row[2] = measure.FormatLatency(uint64(max(l.MeanNanoseconds, 0)))
		for i, percentile := range []*int64{l.P50Nanoseconds, l.P95Nanoseconds, l.P99Nanoseconds, l.P999Nanoseconds} {
			if percentile != nil {
				row[3+i] = measure.FormatLatency(uint64(max(*percentile, 0)))
			}
		}
		row[7] = measure.FormatLatency(uint64(max(l.MaxNanoseconds, 0)))
	}
	return row
}

func spread(b *strings.Builder, phase v1alpha1.PhaseResult, target v1alpha1.TargetResult) {
	fmt.Fprintf(b, "  %s, %s: ", phase.Name, target.Target)
	if target.WindowNanoseconds > 0 {
		fmt.Fprintf(b, "over %s", time.Duration(target.WindowNanoseconds).Round(10*time.Millisecond))
	} else {
		b.WriteString("no time in which all clients ran")
	}
	if target.StartSkewNanoseconds != nil && target.Clients > 1 {
		fmt.Fprintf(b, "; clients began within %s", time.Duration(*target.StartSkewNanoseconds).Round(time.Millisecond))
	}
	if target.ClientSpread != nil && target.Clients > 1 {
		fmt.Fprintf(b, "; best client %s, worst %s",
			measure.FormatBytesPerSecond(float64(target.ClientSpread.Best.BytesPerSecond)),
			measure.FormatBytesPerSecond(float64(target.ClientSpread.Worst.BytesPerSecond)))
	}
	b.WriteString("\n")
}

// shown is a warning with where it is from.
type shown struct {
	v1alpha1.Warning
	where string
}

var severityOrder = []v1alpha1.Severity{v1alpha1.SeverityDisqualifying, v1alpha1.SeverityWarning, v1alpha1.SeverityInfo}

func warnings(b *strings.Builder, d Document) {
	var all []shown
	for _, warning := range d.Warnings {
		all = append(all, shown{warning, "run"})
	}
	for _, phase := range d.Phases {
		for _, target := range phase.Targets {
			for _, warning := range target.Warnings {
				all = append(all, shown{warning, phase.Name + ", " + target.Target})
			}
		}
	}
	if len(all) == 0 {
		b.WriteString("\n  no warnings\n")
		return
	}
	slices.SortStableFunc(all, func(x, y shown) int {
		return slices.Index(severityOrder, x.Severity) - slices.Index(severityOrder, y.Severity)
	})
	b.WriteString("\n")
	for _, w := range all {
		fmt.Fprintf(b, "  %-13s %s: %s: %s\n", w.Severity, w.where, w.Type, w.Message)
	}
}

func losses(b *strings.Builder, d Document) {
	for _, lost := range d.LostClients {
		what := "not replaced"
		if lost.Replaced {
			what = "replaced"
		}
		fmt.Fprintf(b, "  lost client %s/%d in %s (%s): %s\n", lost.Target, lost.Client, cmp.Or(lost.Step, "no step"), what, lost.Reason)
	}
	for _, left := range d.DataLeft {
		fmt.Fprintf(b, "  data is left at %s: %s\n", left.Path, left.Reason)
	}
}

func condition(d Document, kind string) *metav1.Condition {
	for i := range d.Conditions {
		if d.Conditions[i].Type == kind {
			return &d.Conditions[i]
		}
	}
	return nil
}

func plural(count int, what string) string {
	if count == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", count, what)
}
