// Package faults seeds faults into copies of the product's files, and checks that the test that should catch each fault
// does.
package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/soak"
)

// failedCheck matches the message of a failed check, but not the stack trace of a panic.
var failedCheck = regexp.MustCompile(`^\s+\w+_test\.go:\d+: `)

// fault is a change of a file of the product. seeded(NAME) enables it at run time, so that one program contains all
// faults.
type fault struct {
	name, file string
	// from occurs exactly once in the file, and is replaced by to.
	from, to string
	// layer is the package with the test that must fail, and test is a pattern for -run.
	layer, test string
}

const simulation = "test/sim"

var faults = []fault{
	{"lost-sample", "internal/conductor/records.go",
		"		c.keep(p, p.samples.add(&sample))\n",
		"		if seeded(`lost-sample`) && p.samples.count == 5 {\n			sample.Counters = [measure.NumOperations]measure.Counter{}\n		}\n		c.keep(p, p.samples.add(&sample))\n",
		simulation, "^TestCutWire$"},
	{"sample-twice", "internal/conductor/records.go",
		"	p.running.follow(&sample, from)\n",
		"	p.running.follow(&sample, from)\n	if seeded(`sample-twice`) && p.samples.count == 4 {\n		for i := range sample.Counters {\n			sample.Counters[i].Bytes *= 2\n			sample.Counters[i].Operations *= 2\n		}\n	}\n",
		simulation, "^TestCutWire$"},
	{"wrong-window", "internal/measure/throughput.go",
		"	counters := make([][NumOperations]Counter, len(series))\n	for client, one := range series {\n		counters[client] = one.CountersIn(window)\n",
		"	if seeded(`wrong-window`) {\n		window.StartNanoseconds, window.EndNanoseconds = window.StartNanoseconds+1e9, window.EndNanoseconds+1e9\n	}\n	counters := make([][NumOperations]Counter, len(series))\n	for client, one := range series {\n		counters[client] = one.CountersIn(window)\n",
		simulation, "^TestCutWire$"},
	{"double-start", "internal/agent/step.go",
		"		return s.load.Run(given.deadline)\n",
		"		if seeded(`double-start`) {\n			s.load.Run(given.deadline)\n		}\n		return s.load.Run(given.deadline)\n",
		simulation, "^TestCutWire$"},
	{"averaged-percentile", "internal/result/operations.go",
		"	b.result.Operations = append(b.result.Operations, added)\n",
		`	if seeded("averaged-percentile") && added.Latency != nil && added.Latency.P50Nanoseconds != nil {
		sum := int64(0)
		for i := range b.usable {
			if p50 := latency(&b.usable[i].Operations[operation].Latency).P50Nanoseconds; p50 != nil {
				sum += *p50 / int64(len(b.usable))
			}
		}
		added.Latency.P50Nanoseconds = &sum
	}
	b.result.Operations = append(b.result.Operations, added)
`,
		"internal/result", "^TestPercentilesOfAllClients$"},
	{"skipped-relayout", "internal/record/facts.go",
		"		if !phasekind.Of(planned.Kind).LaysOut &&", "		if seeded(`skipped-relayout`) || !phasekind.Of(planned.Kind).LaysOut &&",
		simulation, "^TestLoss$/^RestartStep$"},
	{"wrong-attempt", "internal/conductor/translate.go",
		"	p := c.attempts[attempt]\n	if p == nil {\n		return result.Client{}, false\n	}\n	clock",
		"	if first := (decide.Attempt{Step: attempt.Step, Number: 1}); seeded(`wrong-attempt`) && c.attempts[first] != nil {\n		attempt = first\n	}\n	p := c.attempts[attempt]\n	if p == nil {\n		return result.Client{}, false\n	}\n	clock",
		simulation, "^TestLoss$/^RestartStep$"},
	{"clock-offset-ignored", "internal/measure/clock.go",
		"	return remoteNanoseconds - c.OffsetNanoseconds\n",
		"	if seeded(`clock-offset-ignored`) {\n		return remoteNanoseconds\n	}\n	return remoteNanoseconds - c.OffsetNanoseconds\n",
		simulation, "^TestCutWire$"},
	{"baseline-of-the-burst", "internal/detect/report.go",
		"	r.Sustained, r.Peak = first.Mean, first.Mean\n",
		"	if seeded(`baseline-of-the-burst`) {\n		r.Baseline = first.Mean\n	}\n	r.Sustained, r.Peak = first.Mean, first.Mean\n",
		simulation, "^TestScenarios$/^facts$"},
	{"refill-ignored", "internal/detect/credits_spent.go",
		"		amount += l.done(s, until) - refill*(",
		"		if seeded(`refill-ignored`) {\n			refill = 0\n		}\n		amount += l.done(s, until) - refill*(",
		simulation, "^TestScenarios$/^facts$"},
	{"rank-start-counted", "internal/agent/mpi/rank_meter.go",
		"		m.base = before\n		if before", "		if m.base = before; seeded(`rank-start-counted`) {\n			m.base = process.IO{}\n		}\n		if before",
		simulation, "^TestMdtest$"},
	{"last-look-lost", "internal/agent/mpi/process.go",
		"		now := m.step.Clock.Monotonic()\n		load := m.meter",
		"		if seeded(`last-look-lost`) && !running {\n			break\n		}\n		now := m.step.Clock.Monotonic()\n		load := m.meter",
		simulation, "^TestMPICutWire$"},
	{"repetition-twice", "internal/agent/mpi/output.go",
		"		all = append(all, sent)\n", "		if all = append(all, sent); seeded(`repetition-twice`) {\n			all = append(all, sent)\n		}\n",
		simulation, "^TestMPICutWire$"},
	{"end-of-job-not-told", "internal/agent/mpi/mpi.go",
		"	released.release()\n", "	if !seeded(`end-of-job-not-told`) {\n		released.release()\n	}\n",
		simulation, "^TestMPICutWire$"},
	{"setup-not-repeated", "internal/agent/command/load.go",
		"&& step.Request.GetStep().GetAttempt() > 1 {", "&& step.Request.GetStep().GetAttempt() > 1 && !seeded(`setup-not-repeated`) {",
		simulation, "^TestCommandLoss$/^RestartStep$"},
	{"calls-believed", "internal/engine/command/sources.go",
		"	choice := Choice{Count: usable[0]}\n", "	choice := Choice{Count: usable[0]}\n	if seeded(`calls-believed`) {\n		choice.Count = usable[len(usable)-1]\n	}\n",
		simulation, "^TestCommand$"},
}

// TestFaultsApply checks that the product still contains the code that each fault changes, that it builds with all
// faults, and that the tests that should catch them exist. Without it, only the next soak run would find out.
func TestFaultsApply(t *testing.T) {
	root, err := binaries.RepositoryRoot()
	must(t, err)
	arguments := []string{"build", "-overlay", seed(t, root, t.TempDir())}
	for _, f := range faults {
		arguments = append(arguments, "./"+filepath.Dir(f.file))
		name := strings.Trim(strings.Split(f.test, "/")[0], "^$")
		if err := exec.Command("grep", "-q", "^func "+name+"(t ", "-r", filepath.Join(root, f.layer)).Run(); err != nil {
			t.Errorf("%s: %s has no %s: %v", f.name, f.layer, name, err)
		}
	}
	build := exec.Command("go", arguments...)
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestSeededFaults(t *testing.T) {
	soak.Only(t)
	root, err := binaries.RepositoryRoot()
	must(t, err)
	folder := t.TempDir()
	overlay := seed(t, root, folder)
	programs := map[string]string{}
	for _, f := range faults {
		if programs[f.layer] == "" {
			programs[f.layer] = filepath.Join(folder, strings.ReplaceAll(f.layer, "/", "_")+".test")
			build := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", programs[f.layer], "./"+f.layer)
			build.Dir = root
			if said, err := build.CombinedOutput(); err != nil {
				t.Fatalf("build the tests of %s: %v\n%s", f.layer, err, said)
			}
		}
	}
	try := func(t *testing.T, f fault, seeded string) (string, error) {
		t.Helper()
		// The timeout is for a test that hangs.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		command := exec.CommandContext(ctx, programs[f.layer], "-test.v", "-test.run", f.test)
		command.Dir, command.Env = filepath.Join(root, f.layer), append(os.Environ(), "SEEDED_FAULT="+seeded)
		said, err := command.CombinedOutput()
		if ctx.Err() != nil {
			t.Fatalf("%s hung:\n%s", f.test, said)
		}
		return string(said), err
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if said, err := try(t, f, ""); err != nil || !strings.Contains(said, "--- PASS") {
				t.Fatalf("%s of %s does not pass without a fault: %v\n%s", f.test, f.layer, err, said)
			}
			said, err := try(t, f, f.name)
			if err == nil {
				t.Fatalf("%s of %s does not catch it", f.test, f.layer)
			}
			reason := ""
			for line := range strings.Lines(said) {
				if failedCheck.MatchString(line) {
					reason = strings.TrimSpace(line)
					break
				}
			}
			if reason == "" {
				t.Fatalf("%s of %s ended without a check that failed: %v\n%s", f.test, f.layer, err, said)
			}
			soak.Report(t, f.name, "%s, %s: %s", f.layer, f.test, reason)
		})
	}
}

// seed writes the changed files, and an overlay that makes the go command use them in place of the originals. It
// returns the path of the overlay.
func seed(t *testing.T, root, folder string) (overlay string) {
	t.Helper()
	texts := map[string]string{}
	for _, f := range faults {
		path := filepath.Join(root, f.file)
		if texts[path] == "" {
			text, err := os.ReadFile(path)
			must(t, err)
			texts[path] = string(text)
			texts[filepath.Join(filepath.Dir(path), "seeded_fault.go")] = fmt.Sprintf(
				"package %s\n\nimport \"os\"\n\nfunc seeded(name string) bool { return os.Getenv(\"SEEDED_FAULT\") == name }\n", filepath.Base(filepath.Dir(path)))
		}
		if count := strings.Count(texts[path], f.from); count != 1 {
			t.Fatalf("%s has %d times what %s changes, not once", f.file, count, f.name)
		}
		texts[path] = strings.Replace(texts[path], f.from, f.to, 1)
	}
	replace := map[string]string{}
	for path, text := range texts {
		changed := filepath.Join(folder, strings.ReplaceAll(path, "/", "_"))
		must(t, os.WriteFile(changed, []byte(text), 0o600))
		replace[path] = changed
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	must(t, err)
	overlay = filepath.Join(folder, "overlay.json")
	must(t, os.WriteFile(overlay, content, 0o600))
	return overlay
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
