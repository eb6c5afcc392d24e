package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// priceFlag adds --price-per-hour to a command that estimates runs.
func priceFlag(command *cobra.Command, perHour *float64) {
	command.Flags().Float64Var(perHour, "price-per-hour", 0, "price of storage and nodes per hour, in any currency, to estimate the cost of a run")
}

// checkPrice returns an error for a price that is negative or not a finite number.
func checkPrice(perHour float64) error {
	if !(perHour >= 0) || math.IsInf(perHour, 0) {
		return fmt.Errorf("--price-per-hour %g: must be 0 or more, such as 2.5", perHour)
	}
	return nil
}

// cost is the cost of one or more consecutive runs.
type cost struct {
	PricePerHour float64 `json:"pricePerHour"`
	// Least is the cost if runs take their minimum duration. Expected is the cost if they take their expected duration;
	// it is absent if that duration is unknown.
	Least    float64  `json:"least"`
	Expected *float64 `json:"expected,omitempty"`
}

// costOf returns the cost of executing the plan the given number of times, or nil if no price is given.
func costOf(d *planDocument, perHour float64, runs int) *cost {
	if perHour == 0 {
		return nil
	}
	hours := func(seconds float64) float64 { return seconds * float64(runs) / 3600 * perHour }
	made := &cost{PricePerHour: perHour, Least: hours(d.DurationSeconds)}
	if d.ExpectedSeconds != nil {
		made.Expected = new(hours(*d.ExpectedSeconds))
	}
	return made
}

func (c *cost) text() string {
	each := fmt.Sprintf(" at %g per hour", c.PricePerHour)
	if c.Expected != nil {
		return "costs about " + money(*c.Expected) + each
	}
	return "costs at least " + money(c.Least) + each
}

// money formats an amount, with more decimals if it is small.
func money(amount float64) string {
	if amount < 0.1 {
		return strconv.FormatFloat(amount, 'f', 4, 64)
	}
	return strconv.FormatFloat(amount, 'f', 2, 64)
}

// writtenText describes how much data a run writes.
func writtenText(w plan.Written) string {
	return "writes " + strings.Join(writtenParts(w), ", ")
}

func writtenParts(w plan.Written) (parts []string) {
	if w.LayoutBytes > 0 {
		parts = append(parts, measure.FormatBytes(w.LayoutBytes)+" to lay out data")
	}
	if w.MeasuredBytes > 0 {
		parts = append(parts, "up to "+measure.FormatBytes(w.MeasuredBytes)+" in measured phases (from rates and documented limits)")
	}
	if len(w.Unbounded) > 0 {
		parts = append(parts, "an unknown amount in "+strings.Join(w.Unbounded, ", ")+" (depends on the storage)")
	}
	if len(parts) == 0 {
		return []string{"nothing"}
	}
	return parts
}

// announce writes the expected duration, written bytes and cost of a run before it starts. If there is no estimate, it
// writes nothing, and the run starts anyway.
func announce(streams Streams, read loaded, perHour float64, runs int) {
	d, err := describePlan(read)
	if err != nil {
		return
	}
	lines := d.summary()
	if runs > 1 {
		several := fmt.Sprintf("%d runs", runs)
		if d.ExpectedSeconds != nil {
			several += ", about " + about(float64(runs)**d.ExpectedSeconds) + " in all"
		}
		lines = append(lines, several)
	}
	each := ""
	if runs > 1 {
		each = "each run "
	}
	// Print the layout's and the measured phases' bytes on separate lines, so that each fits into 80 columns.
	for _, part := range writtenParts(d.Written) {
		lines = append(lines, each+"writes "+part)
	}
	if made := costOf(&d, perHour, runs); made != nil {
		lines = append(lines, made.text())
	}
	_, _ = fmt.Fprintln(streams.Err, strings.Join(lines, "\n  "))
}
