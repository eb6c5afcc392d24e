//go:build ignore

// Package lint holds rules for ruleguard, which golangci-lint runs as part of gocritic. .golangci.yml says where they hold.
package lint

import "github.com/quasilyte/go-ruleguard/dsl"

// elapsedTime keeps tests from judging how fast the machine is. What measures time is a benchmark, or belongs to the soak.
func elapsedTime(m dsl.Matcher) {
	const advice = `a test may not measure elapsed time: wait for a fact, compare over the same window, use testing/synctest, or move it to test/soak`

	m.Match(`time.Since($_)`, `time.Until($_)`, `time.Now().Sub($_)`).
		Where(m.File().Name.Matches(`_test\.go$`)).
		Report(advice)

	m.Match(`$x < $y`, `$x <= $y`, `$x > $y`, `$x >= $y`).
		Where(m.File().Name.Matches(`_test\.go$`) && m["x"].Type.Is(`time.Duration`) &&
			(m["x"].Contains(`$_.Sub($_)`) || m["y"].Contains(`$_.Sub($_)`))).
		Report(advice)
}
