package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// maxShown is the maximum number of repetitions that the text lists per operation. If there are more, the text lists
// the first and the last ones. The JSON output can list more.
const maxShown = 10

// jobs writes the figures that ior and mdtest themselves report.
func (p *page) jobs(d Document) {
	repetitions, rates := false, false
	for phase, target := range v1alpha1.TargetResults(d.Phases) {
		if target.IOR != nil {
			p.ior(where(d, phase, target), target.IOR)
			repetitions = repetitions || len(target.IOR.Operations) > 0
		}
		if target.Mdtest != nil {
			p.mdtest(where(d, phase, target), target.Mdtest)
			rates = rates || len(target.Mdtest.Rates) > 0
		}
	}
	var says []string
	if repetitions {
		says = append(says, "Repetitions are IOR's own figures: bytes divided by the time from the first start to the last end. All repetitions "+
			"have equal weight. Open, transfer and close times are over all ranks and overlap.")
	}
	if rates {
		says = append(says, "Operations per second are mdtest's own figures, over all ranks and iterations.")
	}
	if len(says) > 0 {
		p.gap()
		p.line(strings.Join(says, " "))
	}
}

func (p *page) ior(where string, ior *v1alpha1.IORResult) {
	text := where + ": " + job("IOR", ior.MPIRun)
	if ior.API != "" {
		text += ", " + ior.API
	}
	text += ", data pattern " + cmp.Or(ior.DataPattern, "IOR's default")
	p.gap()
	p.line(text)
	p.command(ior.CommandLine)
	if len(ior.Operations) == 0 {
		return
	}
	lines := [][]string{{"OPERATION", "REPETITION", "BYTES", "THROUGHPUT", "IOPS", "OPEN", "TRANSFER", "CLOSE", "TOTAL"}}
	for i := range ior.Operations {
		lines = append(lines, iorRows(&ior.Operations[i])...)
	}
	p.gap()
	p.nestedColumns(lines, 1)
}

func iorRows(operation *v1alpha1.IOROperation) [][]string {
	name := printable(string(operation.Operation))
	blank := func(what string) []string {
		return []string{name, what, "", "", "", "", "", "", ""}
	}
	var rows [][]string
	listed := operation.Repetitions
	first := len(listed)
	if first > maxShown {
		first = maxShown / 2
	} else if operation.OmittedRepetitions > 0 {
		first = (first + 1) / 2
	}
	last := min(len(listed)-first, maxShown-maxShown/2)
	for i := range listed[:first] {
		rows = append(rows, iorRow(name, &listed[i]))
	}
	if more := int(operation.OmittedRepetitions) + len(listed) - first - last; more > 0 {
		rows = append(rows, blank(fmt.Sprintf("... %d more", more)))
	}
	for i := range listed[len(listed)-last:] {
		rows = append(rows, iorRow(name, &listed[len(listed)-last+i]))
	}
	if operation.Count < 2 {
		return rows
	}
	over := func(what string, bytesPerSecond int64, total string) {
		row := blank(what)
		row[3], row[8] = rateText(bytesPerSecond), total
		rows = append(rows, row)
	}
	over("max", operation.MaxBytesPerSecond, "")
	over("min", operation.MinBytesPerSecond, "")
	over(fmt.Sprintf("mean of %d", operation.Count), operation.MeanBytesPerSecond, length(operation.MeanNanoseconds))
	over("std dev", operation.StandardDeviationBytesPerSecond, "")
	return rows
}

func iorRow(name string, repetition *v1alpha1.IORRepetition) []string {
	bytes := bytesText(repetition.Bytes)
	if repetition.BytesEstimated {
		bytes = "~" + bytes
	}
	iops := absent
	if repetition.IOPSMilli != nil {
		iops = iopsOf(float64(*repetition.IOPSMilli) / 1000)
	}
	row := []string{name, fmt.Sprint(repetition.Index), bytes, rateText(repetition.BytesPerSecond), iops}
	for _, nanoseconds := range []*int64{repetition.OpenNanoseconds, repetition.TransferNanoseconds, repetition.CloseNanoseconds} {
		if nanoseconds == nil {
			row = append(row, absent)
			continue
		}
		row = append(row, shortLength(*nanoseconds))
	}
	return append(row, length(repetition.TotalNanoseconds))
}

// shortLength formats a duration, rounded to 1 us below a millisecond, to 0.1 ms below a second, and otherwise to 10
// ms.
func shortLength(nanoseconds int64) string {
	length := time.Duration(max(nanoseconds, 0))
	switch {
	case length < time.Millisecond:
		return length.Round(time.Microsecond).String()
	case length < time.Second:
		return length.Round(100 * time.Microsecond).String()
	}
	return length.Round(10 * time.Millisecond).String()
}

func (p *page) mdtest(where string, mdtest *v1alpha1.MdtestResult) {
	p.gap()
	p.line(where + ": " + job("mdtest", mdtest.MPIRun))
	p.command(mdtest.CommandLine)
	if len(mdtest.Rates) == 0 {
		return
	}
	lines := [][]string{{"OPERATIONS PER SECOND", "MAX", "MIN", "MEAN", "STD DEV"}}
	for _, rate := range mdtest.Rates {
		row := []string{printable(rate.Operation)}
		for _, milli := range []int64{rate.MaxOPSMilli, rate.MinOPSMilli, rate.MeanOPSMilli, rate.StandardDeviationOPSMilli} {
			row = append(row, iopsOf(float64(milli)/1000))
		}
		lines = append(lines, row)
	}
	p.gap()
	p.nestedColumns(lines, 1)
}

// job describes a tool and its MPI job: versions, ranks, clients.
func job(tool string, run v1alpha1.MPIRun) string {
	text := tool
	if run.Version != "" {
		text += " " + strings.TrimPrefix(strings.TrimPrefix(run.Version, "IOR-"), tool+" ")
	}
	if run.MPIVersion != "" {
		text += " with Open MPI " + run.MPIVersion
	}
	if run.Ranks > 0 {
		text += ", " + measure.FormatCount(int(run.Ranks), "rank") + " in " + measure.FormatCount(int(run.Clients), "client")
	}
	return text
}

func (p *page) command(words []string) {
	if len(words) > 0 {
		p.nested(strings.Join(words, " "))
	}
}
