package fio

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// An open loop consists of many fio jobs that each do one operation at a time, at random intervals. fio submits inline:
// an operation that is due while its job still waits for the preceding one starts late, and no latency includes the
// delay. Late starts are rare only if there are many more jobs than outstanding operations. In a model of one server
// with constant service time, the measured share of operations above the 99th percentile was 26 % too low with 10 x
// rate x latency jobs, 9 % too low with 40 x, and 4 % too low with 60 x. So openLoop uses 40 x rate x latency jobs, or
// fewer where fio or the API do not allow that many, but never fewer than 10 x rate x latency. fio's own open loop,
// io_submit_mode=offload, does not end if the queue depth is above 1 (fio 3.33).
const (
	leastPerOutstanding = 10
	jobsPerOutstanding  = 40
)

// openLoop returns a copy of the profile, changed so that its jobs together start operations at the offered rate.
// The jobs must share files: see suitsOpenLoop.
func openLoop(profile *v1alpha1.FioProfile, offer engine.Offer) (*v1alpha1.FioProfile, error) {
	outstanding := float64(offer.IOPS) * offer.Latency.Seconds()
	// fio accepts only whole numbers as the rates of a job. Each job needs a rate of at least one read per second and
	// one write per second, if the load does both, so the rarer operation limits the number of jobs.
	rarest := int64(float64(offer.IOPS) * rarerShare(profile))
	if rarest < 1 {
		return nil, fmt.Errorf("at %d operations per second, each client does less than one read or less than one write per second: raise "+
			"search.rate.min, or lower clients.count", offer.IOPS)
	}
	jobs := min(int64(math.Ceil(jobsPerOutstanding*outstanding)), rarest, maxJobs)
	if least := leastPerOutstanding * outstanding; float64(jobs+1) < least {
		return nil, fmt.Errorf("%d operations per second per client with latencies of up to %s need %.0f jobs (%d x rate x latency), "+
			"but a client can run at most %d: raise clients.count, or lower search.rate.max", offer.IOPS, offer.Latency, math.Ceil(least), leastPerOutstanding, jobs)
	}
	made := *profile
	made.Jobs, made.QueueDepth = new(int32(jobs)), nil // #nosec G115 -- just bounded
	if made.IOEngine != v1alpha1.FioNull {
		made.IOEngine = v1alpha1.FioPsync
	}
	made.RateLimit = &v1alpha1.FioRateLimit{IOPS: &offer.IOPS}
	made.Options = maps.Clone(profile.Options)
	if made.Options == nil {
		made.Options = map[string]v1alpha1.FioOptionValue{}
	}
	made.Options["rate_process"] = "poisson"
	return &made, nil
}

// settle returns how long latencies are ignored at the start of an open loop's measured time.
// At the end of ramp_time, as at the start of a job, fio 3.33 considers the next operation of every job due, so all
// jobs issue an operation at once. A server that completes C operations per second needs jobs / (C - rate) seconds to
// drain this queue, for example 0.4 s at a rate of 65 % of C. Until then, latencies can be as high as jobs / C because
// of the queue, not because of the offered load.
func settle(offer engine.Offer, duration time.Duration) time.Duration {
	if offer.IOPS == 0 {
		return 0
	}
	return min(max(leastSettle, settlePerLatency*offer.Latency), duration/4)
}

const (
	leastSettle      = 3 * time.Second
	settlePerLatency = 100
)

// caution returns a warning if an open loop has so few jobs that the measured latencies are too low, or "" if there are
// enough jobs.
func caution(offer engine.Offer, jobs int) string {
	if wanted := math.Ceil(jobsPerOutstanding * float64(offer.IOPS) * offer.Latency.Seconds()); float64(jobs) < wanted {
		return fmt.Sprintf("at %d operations per second, each client has %d jobs, but needs %.0f (%d x rate x latency) for accurate high percentiles: "+
			"if the highest rate is near this load, the reported rate may be a few percent too high; raise clients.count, or lower search.rate.max", offer.IOPS, jobs, wanted, jobsPerOutstanding)
	}
	return ""
}

// rarerShare returns the share of reads or the share of writes among all operations, whichever is smaller. It returns 1
// if the load only reads or only writes.
func rarerShare(profile *v1alpha1.FioProfile) float64 {
	if profile.ReadPercent == nil || *profile.ReadPercent <= 0 || *profile.ReadPercent >= 100 {
		return 1
	}
	return float64(min(*profile.ReadPercent, 100-*profile.ReadPercent)) / 100
}

// suitsOpenLoop returns an error for each setting that a search controls itself, and for loads whose operations cannot
// arrive at random.
func (e Engine) suitsOpenLoop(use *engine.Use) field.ErrorList {
	if use.Phase.Search == nil {
		return nil
	}
	p, at := e.Profile, use.Profile
	var problems field.ErrorList
	refuse := func(path *field.Path, value any, why string) {
		problems = append(problems, field.Invalid(path, value, why))
	}
	if p.JobFile != "" {
		return field.ErrorList{field.Forbidden(at.Child("jobFile"), "a search sets jobs, engine and rate itself, so it cannot use a job file: use the typed fields")}
	}
	if p.Pattern != v1alpha1.FioRandom {
		refuse(at.Child("pattern"), p.Pattern, "a search runs many jobs, whose operations arrive in random order: set pattern to Random")
	}
	if p.FileSharing != v1alpha1.FilesShared {
		refuse(at.Child("fileSharing"), p.FileSharing, "a search changes the number of jobs with the rate, so all jobs need the same files: set fileSharing to Shared, "+
			"also in the workload of the prepare phase")
	}
	if p.RateLimit != nil {
		problems = append(problems, field.Forbidden(at.Child("rateLimit"), "must not be set: the search determines the rate"))
	}
	for name := range p.Options {
		if strings.HasPrefix(name, "think") || strings.HasPrefix(name, "rate") || strings.HasPrefix(name, "flow") || name == "io_submit_mode" {
			problems = append(problems, field.Forbidden(at.Child("options").Key(name), "must not be set: the search determines the rate and how operations arrive"))
		}
	}
	most := time.Duration(rarerShare(p) / leastPerOutstanding * float64(time.Second))
	if limit, err := use.Phase.Search.Objective.Latency.Max.Parse(); err == nil && limit > most {
		refuse(use.At.Child("search", "objective", "latency", "max"), string(use.Phase.Search.Objective.Latency.Max),
			fmt.Sprintf("must be at most %s with this workload: each job does at least one operation of each kind per second, and a search needs %d x rate x latency jobs",
				most, leastPerOutstanding))
	}
	return problems
}
