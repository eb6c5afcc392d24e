package fio

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// limit is the rate limit of a client for reads and for writes, in bytes or operations per second.
type limit struct {
	option        string
	reads, writes uint64
}

// rates reads the profile's rateLimit. fio limits reads and writes separately, and does not accept a limit on bytes
// together with a limit on operations. If the profile sets both and there is only one block size, rates uses the lower
// of the two limits. It divides the limit between reads and writes according to readPercent.
func (r *typedReader) rates() *limit {
	given := r.profile.RateLimit
	if given == nil {
		return nil
	}
	path := r.path.Child("rateLimit")
	var chosen limit
	var total uint64
	name := "iops"
	if given.IOPS != nil {
		if *given.IOPS < 1 || *given.IOPS > countMost {
			r.problems = append(r.problems, field.Invalid(path.Child("iops"), *given.IOPS, fmt.Sprintf("must be from 1 to %d", countMost)))
			return nil
		}
		chosen.option, total = "rate_iops", uint64(*given.IOPS)
	}
	if given.BytesPerSecond != nil {
		value, ok := whole(given.BytesPerSecond)
		if !ok || value < 1 {
			r.problems = append(r.problems, field.Invalid(path.Child("bytesPerSecond"), given.BytesPerSecond.String(), "must be a whole number above 0"))
			return nil
		}
		high, byOperations := bits.Mul64(total, r.section.blockBytes)
		if given.IOPS == nil || high == 0 && uint64(value) < byOperations {
			chosen.option, total, name = "rate", uint64(value), "bytesPerSecond"
		}
	}
	if chosen.option == "" {
		r.problems = append(r.problems, field.Required(path, "set bytesPerSecond or iops"))
		return nil
	}
	high, low := bits.Mul64(total, uint64(r.readPercent)) // #nosec G115 -- 0 to 100
	chosen.reads, _ = bits.Div64(high, low, 100)
	chosen.writes = total - chosen.reads
	jobs := uint64(max(r.section.jobs, 1)) // #nosec G115 -- at least 1
	if r.section.reads && chosen.reads < jobs || r.section.writes && chosen.writes < jobs {
		r.problems = append(r.problems, field.Invalid(path.Child(name), total, fmt.Sprintf(
			"is too small for %d jobs with readPercent %d: each job needs a share of at least 1 per second for each kind of operation; raise it, or lower jobs", jobs, r.readPercent)))
	}
	return &chosen
}

// limits returns the rate limits of a client in bytes and in operations per second. A limit is 0 if at least one
// section that accesses files has no limit of this kind.
func (l *load) limits() (bytes, operations float64) {
	for i := range l.sections {
		s := &l.sections[i]
		if s.diskless() {
			continue
		}
		ofBytes, ofOperations := s.rateOf("rate"), s.rateOf("rate_iops")
		if s.blockBytes > 0 {
			ofBytes = min(ofBytes, ofOperations*float64(s.blockBytes))
		}
		bytes, operations = bytes+ofBytes, operations+ofOperations
	}
	if math.IsInf(bytes, 1) {
		bytes = 0
	}
	if math.IsInf(operations, 1) {
		operations = 0
	}
	return bytes, operations
}

// rateOf returns the rate to which an option limits all jobs of the section. It returns infinity if the option does not
// limit all of their operations. The value of the option has up to three rates, for reads, writes and trims. If it has
// fewer, the last rate applies to the remaining operations.
func (s *loadSection) rateOf(option string) (rate float64) {
	at := slices.IndexFunc(s.settings, func(one setting) bool { return one.name == option })
	if at < 0 {
		return math.Inf(1)
	}
	rates := strings.Split(s.settings[at].value, ",")
	for i, done := range []bool{s.reads, s.writes, s.trims} {
		if !done {
			continue
		}
		each, err := strconv.ParseFloat(rates[min(i, len(rates)-1)], 64)
		if err != nil || each == 0 {
			return math.Inf(1) // in fio, a rate of 0 or an empty rate means no limit
		}
		rate += each * float64(s.jobs)
	}
	return rate
}

// share returns one job's share of a total over all jobs. The shares of all jobs add up to exactly the total.
func share(total uint64, jobs, number int) uint64 {
	count, index := uint64(jobs), uint64(number) // #nosec G115 -- not negative
	each := total / count
	if index < total%count {
		each++
	}
	return each
}

// setting returns the option that limits the rate of one job. If the job reads and writes, the limit for reads comes
// first in the value.
func (l *limit) setting(s *loadSection, number int) setting {
	reads, writes := share(l.reads, s.jobs, number), share(l.writes, s.jobs, number)
	text := strconv.FormatUint(writes, 10)
	switch {
	case s.reads && s.writes:
		text = fmt.Sprintf("%d,%d", reads, writes)
	case s.reads:
		text = strconv.FormatUint(reads, 10)
	}
	return setting{name: l.option, value: text}
}

// split returns the sections of the load: one for all jobs, or one for each job if
//
//   - a rate is not divisible by the number of jobs, or
//   - jobs share files: fio gives a shared file only to the first job of a section. The other jobs have no file
//     and silently do nothing (add_file in filesetup.c).
func (r *typedReader) split(rates *limit) []loadSection {
	whole := r.section
	jobs := uint64(whole.jobs) // #nosec G115 -- at least 1
	even := rates == nil || (!whole.reads || rates.reads%jobs == 0) && (!whole.writes || rates.writes%jobs == 0)
	if even && (!whole.shared || whole.jobs == 1) {
		if rates != nil {
			whole.settings = append(whole.settings, rates.setting(&whole, 0))
		}
		return []loadSection{whole}
	}
	sections := make([]loadSection, whole.jobs)
	for number := range sections {
		one := whole
		one.name = fmt.Sprintf("job.%d", number)
		one.settings = slices.Clone(whole.settings)
		if rates != nil {
			one.settings = append(one.settings, rates.setting(&whole, number))
		}
		one.jobs, one.firstJob, one.layoutJobs = 1, number, 1
		sections[number] = one
	}
	if !whole.shared {
		// Other steps may run more jobs than this one. The files of the additional jobs belong to the last section.
		sections[whole.jobs-1].layoutJobs += whole.layoutJobs - whole.jobs
	}
	return sections
}
