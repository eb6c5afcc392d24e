package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// part is a set of soak tests that run, and are recorded, together.
type part struct {
	name string
	// what the part shows, for a reader of the page.
	what string
	// packages and a pattern of tests, as `go test` takes them.
	packages []string
	pattern  string
	timeout  time.Duration
	// environment is set for the tests beside what all parts get.
	environment []string
	// cluster keeps one embedded cluster up over all packages of the part.
	cluster bool
}

// parts in the order in which they run: the cheap ones first.
var parts = []part{
	{name: "detect", what: "detection of bursts, levels, knees and regressions on simulated series: error rates",
		packages: []string{"./internal/detect"}, timeout: time.Hour},
}

// choose returns the parts of those names, in the order of the table; all without names.
func choose(names []string) ([]part, error) {
	if len(names) == 0 {
		return parts, nil
	}
	var chosen []part
	for _, p := range parts {
		if slices.Contains(names, p.name) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			var known []string
			for _, p := range parts {
				known = append(known, p.name)
			}
			return nil, fmt.Errorf("unknown part %q; the parts are %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
