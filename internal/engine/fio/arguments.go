package fio

import (
	"fmt"
	"time"
)

// Arguments gives the arguments of a fio that reads its job from standard input and prints
// its running totals at an interval, which is rounded to whole milliseconds. 0 prints only
// the result.
func Arguments(interval time.Duration) []string {
	arguments := []string{"--output-format=json+", "--eta=never"}
	if interval > 0 {
		arguments = append(arguments, fmt.Sprintf("--status-interval=%dms", max(interval.Milliseconds(), 1)))
	}
	return append(arguments, "-")
}
