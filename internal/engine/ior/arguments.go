package ior

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// maxOpenRepetitions is the number of repetitions to request for a step that storagebench stops. It is far below the
// maximum of IOR's counters. Normally, the step ends before IOR has completed all repetitions. If IOR does complete
// them, for example in a step of many hours with repetitions of less than a second, the result of the step has the
// warning ResultIncomplete.
const maxOpenRepetitions = 50_000

// Arguments returns the arguments of IOR for one step, without the program's name. The name of the data file is
// relative to the working directory. No argument contains another path, or text that a shell must expand. Errors name
// the field of the profile, the value and the remedy.
func Arguments(profile *v1alpha1.IORProfile, parameters Parameters) ([]string, error) {
	w, problems := readProfile(field.NewPath("ior"), profile)
	if len(problems) > 0 {
		return nil, fmt.Errorf("build the arguments of IOR: %w", problems.ToAggregate())
	}
	if err := w.compatible(&parameters); err != nil {
		return nil, fmt.Errorf("build the arguments of IOR: %w", err)
	}
	pace := w.pace(&parameters)
	a := []string{"-a", w.api, "-t", sizeText(w.transfer), "-b", sizeText(w.block), "-s", strconv.FormatInt(w.segments, 10)}
	add := func(when bool, arguments ...string) {
		if when {
			a = append(a, arguments...)
		}
	}
	add(w.direct, "--posix.odirect")
	add(w.filePerProcess, "-F")
	add(w.collective, "-c")
	add(pace.writes, "-w")
	add(pace.reads, "-r")
	add(w.random && !pace.prepares, "-z")
	add((w.fsync || pace.prepares) && pace.writes, "-e")
	add(pace.reads && w.reorder == v1alpha1.IORReorderConstant, "-C")
	add(pace.reads && w.reorder == v1alpha1.IORReorderRandom, "-Z")
	add(w.barriers, "-g")
	add(true, "-i", strconv.FormatInt(pace.repetitions, 10))
	add(pace.keep, "-k")
	add(w.existing && pace.writes, "-E")
	if letter, ok := patternLetters[w.pattern]; ok {
		add(true, "-l", letter)
	}
	add(w.verify && pace.writes && !pace.prepares, "-W")
	add(w.verify && pace.reads, "-R")
	add(w.verify, "-G", strconv.FormatInt(parameters.signature(), 10))
	add(pace.deadline > 0, "-D", seconds(pace.deadline))
	// A rank reads as many transfers as it wrote, but from another rank's file, so all files must be equally long.
	shifted := pace.writes && pace.reads && !w.existing && w.reorder != v1alpha1.IORReorderNone
	add(pace.deadline > 0 && (w.wearOut || shifted), "-O", wearOut)
	add(pace.atLeast > 0, "-O", "minTimeDuration="+seconds(pace.atLeast))
	add(pace.limit > 0, "-T", strconv.FormatInt(int64((pace.limit+time.Minute-1)/time.Minute), 10))
	if !pace.prepares {
		for _, argument := range w.args {
			add(true, argument.words()...)
		}
	}
	format := "CSV"
	if parameters.before4() {
		format = "default"
	}
	add(true, "-O", "summaryFormat="+format, "-o", FileName)
	return a, nil
}

// SegmentsOf returns the number of segments in a list of arguments that Arguments returned, or 0 if the list does not
// set the number. Assign the result to Stream.Segments.
func SegmentsOf(arguments []string) int64 {
	at := slices.Index(arguments, "-s")
	if at < 0 || at+1 >= len(arguments) {
		return 0
	}
	segments, _ := parseCount(arguments[at+1])
	return segments
}

// ChecksWrites reports whether a list of arguments that Arguments returned makes IOR read back the data of each write.
// IOR prints no row for these reads.
func ChecksWrites(arguments []string) bool { return slices.Contains(arguments, "-W") }

// Stonewalls reports whether a list of arguments that Arguments returned makes IOR end each repetition at a deadline.
// Ranks can then do different amounts of work.
func Stonewalls(arguments []string) bool {
	return slices.Contains(arguments, "-D") && !slices.Contains(arguments, wearOut)
}

const wearOut = "stoneWallingWearOut=1"

var patternLetters = map[string]string{"Timestamp": "t", "Offset": "o", "Incompressible": "i", "Random": "r"}

func seconds(duration time.Duration) string {
	return strconv.FormatInt(int64((duration+time.Second-1)/time.Second), 10)
}

// compatible returns an error if the profile is not supported by this version of IOR, or in this kind of step.
func (w *workload) compatible(parameters *Parameters) error {
	stonewalled := parameters.Purpose == Measure && (parameters.Duration > 0 || w.stonewall > 0)
	switch {
	case parameters.Purpose != Measure && parameters.Purpose != Prepare:
		return fmt.Errorf("purpose %d is not supported by IOR", int(parameters.Purpose))
	case w.pattern == "Random" && parameters.before4():
		return fmt.Errorf("dataPattern Random: IOR %s silently uses its default instead: use Incompressible with this version", parameters.Version)
	case w.pattern == "Incompressible" && !parameters.before4():
		return fmt.Errorf("dataPattern Incompressible: since version 4.0.0, IOR repeats one word, which compresses 200:1: use Random")
	case w.verify && parameters.Purpose == Measure && parameters.Duration > 0:
		return fmt.Errorf("verify: needs repetitions of whole files, which a time-bound phase does not have: remove verify, or use a burstDrain with repetitions")
	case w.random && (w.filePerProcess || parameters.before4()) && w.writes && w.reads && !w.existing && stonewalled:
		return fmt.Errorf("random: IOR reads in a different order than it writes, so with a time limit it would read unwritten space: use one phase per operation")
	case parameters.Purpose == Measure && parameters.Duration > 0 && parameters.Duration < time.Second:
		return fmt.Errorf("duration %v: must be at least 1s, because IOR counts in seconds", parameters.Duration)
	}
	for _, argument := range w.args {
		if argument.since4 && parameters.before4() {
			return fmt.Errorf("args: IOR %s does not support %s: remove it, or use 4.0.0 or later", parameters.Version, argument.name)
		}
	}
	return nil
}

// pace holds the IOR options that determine which operations a step performs, how often, and for how long.
type pace struct {
	prepares, writes, reads bool
	repetitions             int64
	keep                    bool
	deadline, atLeast       time.Duration
	limit                   time.Duration
}

// pace derives the IOR options from the duration of a step. The package documentation describes the rules.
func (w *workload) pace(parameters *Parameters) pace {
	if parameters.Purpose == Prepare {
		return pace{prepares: true, writes: true, repetitions: 1, keep: true}
	}
	p := pace{writes: w.writes, reads: w.reads, repetitions: w.repetitions, keep: w.keep, deadline: w.stonewall, limit: parameters.Limit}
	if parameters.Duration == 0 {
		if parameters.Limit > 0 && !w.counted {
			p.repetitions = maxOpenRepetitions
		}
		return p
	}
	// Divide the time evenly, so that the repetitions fill the step but do not exceed its limit.
	kinds := int64(1)
	if w.writes && w.reads {
		kinds = 2
	}
	total := int64((parameters.Duration + time.Second - 1) / time.Second)
	longest := cmp.Or(int64(p.deadline/time.Second), total)
	p.repetitions = min(ceilDiv(total, longest*kinds), maxOpenRepetitions)
	p.deadline = time.Duration(min(longest, ceilDiv(total, p.repetitions*kinds))) * time.Second
	if kinds == 1 && !parameters.before4() {
		p.atLeast = p.deadline
	}
	p.limit = 0
	return p
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
