package fio

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// TestOpenLoopJobs checks the number of jobs of an open loop: 40 x rate x latency, or the maximum if that is at least
// 10 x rate x latency. Each job must do at least one operation of each kind per second.
func TestOpenLoopJobs(t *testing.T) {
	for _, test := range []struct {
		reads   int32
		iops    int64
		latency time.Duration
		jobs    int32 // 0 if the offered rate is refused
	}{
		{100, 1000, 5 * time.Millisecond, 200}, {100, 10, time.Millisecond, 1}, {100, 35, 100 * time.Millisecond, 35},
		{0, 20_480, 5 * time.Millisecond, 1024}, {0, 20_600, 5 * time.Millisecond, 0}, {50, 101, 50 * time.Millisecond, 50},
		{90, 10, time.Millisecond, 1}, {90, 1000, 10 * time.Millisecond, 100},
	} {
		made, err := openLoop(profileWith(shared, withReadPercent(test.reads)), engine.Offer{IOPS: test.iops, Latency: test.latency})
		if err != nil {
			if test.jobs != 0 || !strings.Contains(err.Error(), "raise clients.count") {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		if *made.Jobs != test.jobs || made.IOEngine != v1alpha1.FioPsync || made.Options["rate_process"] != "poisson" {
			t.Errorf("%+v: %d jobs of %s, %v", test, *made.Jobs, made.IOEngine, made.Options)
		}
		if _, err := Render(profileWith(shared, withReadPercent(test.reads)), Parameters{Purpose: Measure, Duration: time.Minute,
			Overrides: engine.Overrides{Offer: engine.Offer{IOPS: test.iops, Latency: test.latency}}}); err != nil {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// TestOpenLoopKeepsTheProfile checks that openLoop does not modify the profile, because other phases use it too.
func TestOpenLoopKeepsTheProfile(t *testing.T) {
	profile := profileWith(shared, withOption("norandommap", ""))
	if _, err := openLoop(profile, engine.Offer{IOPS: 100, Latency: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if len(profile.Options) != 1 || profile.RateLimit != nil || profile.Jobs != nil {
		t.Errorf("%+v", profile)
	}
}

func TestSuitsSearch(t *testing.T) {
	for want, change := range map[string][]edit{
		"":                                   {shared},
		"fio.pattern":                        {shared, sequential},
		"fio.fileSharing":                    {},
		"fio.rateLimit":                      {shared, withRate("", 100)},
		"fio.options[thinktime]":             {shared, withOption("thinktime", "10")},
		"fio.options[io_submit_mode]":        {shared, withOption("io_submit_mode", "offload")},
		"fio.jobFile":                        {withJobFile("[a]\nrw=randread\nbs=4k\nsize=1m\n", "1Mi")},
		"phase.search.objective.latency.max": {shared, withReadPercent(99)},
	} {
		phase := &v1alpha1.Phase{Search: &v1alpha1.SearchPhase{Objective: v1alpha1.SearchObjective{Latency: v1alpha1.SearchLatency{Percentile: "99", Max: "5ms"}}}}
		problems := Engine{Profile: profileWith(change...)}.Suits(&engine.Use{Phase: phase, At: field.NewPath("phase"), Profile: field.NewPath("fio")})
		if want == "" && len(problems) > 0 || want != "" && (len(problems) != 1 || problems[0].Field != want) {
			t.Errorf("%s: %v", want, problems)
		}
	}
}
