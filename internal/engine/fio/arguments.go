package fio

import (
	"fmt"
	"time"
)

// Arguments returns arguments that make fio read its job from standard input and print its running totals at the given
// interval, which is truncated to whole milliseconds, with a minimum of 1 ms. With an interval of 0, fio prints
// only the result.
func Arguments(interval time.Duration) []string {
	arguments := []string{"--output-format=json+", "--eta=never"}
	if interval > 0 {
		arguments = append(arguments, fmt.Sprintf("--status-interval=%dms", max(interval.Milliseconds(), 1)))
	}
	return append(arguments, "-")
}
