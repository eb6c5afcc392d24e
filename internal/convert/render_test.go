package convert_test

import (
	"bufio"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// job is a section of a fio job file with its options and those of [global].
type job map[string]string

func (j job) number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, ok := j[name]
	if !ok {
		return otherwise
	}
	value, err := strconv.ParseUint(strings.TrimSuffix(text, "ms"), 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: %v", name, text, err)
	}
	return value
}

// rendered returns the fio jobs of a profile, read without the parser under test.
func rendered(t *testing.T, profile *v1alpha1.FioProfile) []job {
	t.Helper()
	text, err := fio.Render(profile, fio.Parameters{Purpose: fio.Measure, Duration: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []job
	global := job{}
	current := global
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if strings.HasPrefix(line, "[") {
			if current = global; line != "[global]" {
				current = job{"": strings.Trim(line, "[]")}
				for name, value := range global {
					current[name] = value
				}
				jobs = append(jobs, current)
			}
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		current[name] = value
	}
	return jobs
}

// effect describes the whole load.
type effect struct {
	Jobs, Outstanding, DatasetBytes uint64
	Files                           int
	// RateBytes and RateIOPS are summed over all jobs and both directions.
	RateBytes, RateIOPS uint64
	// The remaining fields have the same value in all jobs.
	RW, Mix, Block, Engine, Direct, Sync string
	Options                              map[string]string
}

// effectOf returns the combined effect of jobs.
func effectOf(t *testing.T, jobs []job, options ...string) effect {
	t.Helper()
	sum := effect{Options: map[string]string{}}
	files := map[string]uint64{}
	for i, one := range jobs {
		count := one.number(t, "numjobs", 1)
		sum.Jobs += count
		sum.Outstanding += count * one.number(t, "iodepth", 1)
		number := one.number(t, "nrfiles", 1)
		for n := range count {
			for f := range number {
				name := strings.NewReplacer("$jobnum", strconv.FormatUint(n, 10), "$filenum", strconv.FormatUint(f, 10)).Replace(one["filename_format"])
				files[name] += one.number(t, "size", 0) / number
				if _, part := one["offset"]; !part && files[name] > one.number(t, "size", 0)/number {
					files[name] = one.number(t, "size", 0) / number // several jobs use the same whole file
				}
			}
		}
		for _, rate := range []struct {
			option string
			sum    *uint64
		}{{"rate", &sum.RateBytes}, {"rate_iops", &sum.RateIOPS}} {
			for part := range strings.SplitSeq(one[rate.option], ",") {
				if value, err := strconv.ParseUint(part, 10, 64); err == nil {
					*rate.sum += value * count
				}
			}
		}
		for name, field := range map[string]*string{"rw": &sum.RW, "rwmixread": &sum.Mix, "bs": &sum.Block, "ioengine": &sum.Engine, "direct": &sum.Direct, "sync": &sum.Sync} {
			if i > 0 && *field != one[name] {
				t.Errorf("jobs differ in %s: %q and %q", name, *field, one[name])
			}
			*field = one[name]
		}
		for _, name := range options {
			if value, ok := one[name]; ok {
				sum.Options[name] = value
			}
		}
	}
	sum.Files = len(files)
	for _, bytes := range files {
		sum.DatasetBytes += bytes
	}
	return sum
}
