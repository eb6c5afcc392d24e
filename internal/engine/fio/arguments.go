package fio

import (
	"fmt"
	"time"
)

// Arguments returns the arguments of a fio that reads its job from standard input and prints its running totals at an
// interval in whole milliseconds (truncated, at least 1). An interval of 0 prints only the result.
func Arguments(interval time.Duration) []string {
	arguments := []string{"--output-format=json+", "--eta=never"}
	if interval > 0 {
		arguments = append(arguments, fmt.Sprintf("--status-interval=%dms", max(interval.Milliseconds(), 1)))
	}
	return append(arguments, "-")
}
