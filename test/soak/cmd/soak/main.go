// Command soak runs the tests that need real time, in parts, and keeps a record of each part:
//
//	go run ./test/soak/cmd/soak run [-seed N] [-missing] [-days N] [-run REGEXP] [PART...]   runs all or some parts; -missing and -run select tests
//	go run ./test/soak/cmd/soak list                                                         lists the parts
//	go run ./test/soak/cmd/soak status [-days N]                                             fails if a part has no pass in the last N days
//	go run ./test/soak/cmd/soak page                                                         writes docs/soak.md from the records
//
// A part passes, fails or is inconclusive. Inconclusive tests are repeated, failed tests are not. The record of a part
// is docs/soak/PART.json.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/storagebench/storagebench/test/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, arguments []string) error {
	root, err := binaries.RepositoryRoot()
	if err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return fmt.Errorf("change to the root of the repository: %w", err)
	}
	if len(arguments) == 0 {
		return fmt.Errorf("say run, list, status or page")
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	seed := flags.Uint64("seed", rand.Uint64()>>1, "what tests draw at random from; a record says which it was") // #nosec G404 -- moments of tests
	days := flags.Int("days", 14, "how old the last pass may be")
	missing := flags.Bool("missing", false, "run only the tests without a pass, so that a soak can be done piece by piece")
	only := regexp.MustCompile("")
	flags.Func("run", "run only the tests whose names match this regular expression, as with `go test`", func(text string) (err error) {
		only, err = regexp.Compile(text)
		return err
	})
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	switch arguments[0] {
	case "run":
		passedSince := time.Now() // By default, no earlier pass counts.
		if *missing {
			passedSince = passedSince.AddDate(0, 0, -*days)
		}
		return runParts(ctx, flags.Args(), only, *seed, passedSince)
	case "list":
		for _, p := range parts {
			fmt.Printf("%-12s %s\n", p.name, p.what)
		}
		return nil
	case "status":
		return status(time.Now(), *days)
	case "page":
		return writePage(time.Now())
	}
	return fmt.Errorf("%q is unknown: say run, list, status or page", arguments[0])
}

// runParts runs the tests of parts whose names match only, in the order of the table, except for tests that have passed
// since passedSince, and then writes the page.
func runParts(ctx context.Context, names []string, only *regexp.Regexp, seed uint64, passedSince time.Time) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	var bad []string
	matched := false
	for _, p := range chosen {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		tests, err := p.matching(only)
		if err != nil {
			return err
		}
		if len(tests) == 0 {
			continue
		}
		matched = true
		fmt.Printf("== %s: %s\n", p.name, p.what)
		r, err := p.run(ctx, tests, seed, passedSince)
		if err != nil {
			return fmt.Errorf("part %s: %w", p.name, err)
		}
		fmt.Printf("== %s: %s after %s\n", p.name, r.Verdict, time.Duration(r.seconds()*float64(time.Second)).Round(time.Second))
		if r.Verdict != pass {
			bad = append(bad, p.name+" ("+string(r.Verdict)+")")
		}
	}
	if !matched {
		return fmt.Errorf("no test of these parts matches %q", only)
	}
	if err := writePage(time.Now()); err != nil {
		return err
	}
	if len(bad) > 0 {
		return fmt.Errorf("did not pass: %s", strings.Join(bad, ", "))
	}
	return nil
}
