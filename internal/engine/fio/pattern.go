package fio

import (
	"fmt"
	"strconv"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// Result implements engine.Engine.
func (e Engine) Result(step *engine.Step, report *engine.Report, _ *v1alpha1.TargetResult) engine.Findings {
	made := patternOf(e.Profile, step)
	if e.Profile.CompressLike != "" {
		made = likePattern(e.Profile.CompressLike, report)
	}
	made.Version = report.Version
	return engine.Findings{Pattern: made}
}

const patternRemedy = "for incompressible data, set refillBuffers and remove compressibility and other buffer options"

const (
	// These are lz4 compression ratios, in thousandths. usualRatio applies to fio's default buffers in blocks of at
	// least repeatsBelow, refillRatio to random data that is new for each write, and sameRatio to a single repeated
	// word. usualRatio and sameRatio apply if data is compressed in units of 128 KiB.
	usualRatio  = 1040
	refillRatio = 1000
	sameRatio   = 235_000
	// repeatsBelow is the block size below which fio's buffers may repeat within the data that a store compresses as
	// one unit. With one operation in flight, lz4 compressed blocks of 4 KiB at 10:1 and blocks of 16 KiB at 3.8:1.
	// With 32 in flight, it compressed both at 1.06:1.
	repeatsBelow = 64 << 10
)

const (
	fewBuffers = "fio repeats a few buffers, which a store can deduplicate or compress " +
		"if blocks are small and few operations are outstanding"
	// With dedupe_percentage and buffer_compress_percentage at 50 and blocks of 4 KiB, lz4 reached a ratio of 3.7:1.
	repeatedBlocks = "blocks repeat because of dedupe_percentage"
)

// patternOf derives the data pattern from the options that determine the content of fio's buffers. It gives them the
// same precedence as fio, which ignores zero_buffers if buffer_compress_percentage or dedupe_percentage is set. If
// several sections of a job file set an option, patternOf uses the first value.
func patternOf(profile *v1alpha1.FioProfile, step *engine.Step) engine.Pattern {
	set := buffersOf(profile)
	made := engine.Pattern{Remedy: patternRemedy}
	percent, dedupe := number(set["buffer_compress_percentage"]), ""
	if number(set["dedupe_percentage"]) > 0 {
		dedupe = "dedupe_percentage=" + set["dedupe_percentage"]
	}
	// A layout writes large blocks.
	large := step.Purpose == v1alpha1.StepPrepare || blockOf(profile, step) >= repeatsBelow
	switch {
	case percent > 0 && percent < 100:
		made.Name = "buffer_compress_percentage=" + strconv.Itoa(percent)
		switch {
		case dedupe != "":
			made.Name, made.Repeats = made.Name+" and "+dedupe, repeatedBlocks
		case set["refill_buffers"] == "0" && !large:
			made.Repeats = fewBuffers
		default:
			made.RatioMilli = int64(100_000 / (100 - percent))
		}
	case dedupe != "":
		made.Name, made.Repeats = dedupe, repeatedBlocks
	case set["buffer_pattern"] != "":
		made.Name, made.RatioMilli = "buffer_pattern="+set["buffer_pattern"], sameRatio
	case percent == 100:
		made.Name, made.RatioMilli = "buffer_compress_percentage=100", sameRatio
	case set["zero_buffers"] == "1":
		made.Name, made.RatioMilli = "zero_buffers", sameRatio
	case set["refill_buffers"] == "1":
		made.Name, made.RatioMilli = "random, new for each write (refill_buffers)", refillRatio
	case large:
		made.Name, made.RatioMilli = "random", usualRatio
	default:
		made.Name, made.Repeats = "random", fewBuffers
	}
	return made
}

// likePattern returns the pattern of data that is as compressible as the user's own data. If the clients sampled
// different data, it uses the most compressible sample.
func likePattern(name string, report *engine.Report) engine.Pattern {
	made := engine.Pattern{Name: "compressed like " + v1alpha1.Truncate(name, 40), Asked: true, Remedy: patternRemedy}
	var most *engine.DataSample
	for i := range report.Clients {
		if like := report.Clients[i].Like; like != nil && (most == nil || like.RatioMilli > most.RatioMilli) {
			most = like
		}
	}
	if most == nil {
		return made
	}
	files := strconv.FormatUint(most.Files, 10) + " files"
	if most.Files == 1 {
		files = "1 file"
	}
	made.Name += fmt.Sprintf(" (lz4 %s in %s of %s)", measure.FormatRatio(most.RatioMilli), measure.FormatBytes(most.Bytes), files)
	made.RatioMilli = refillRatio
	if most.Percent > 0 {
		made.RatioMilli = int64(100_000 / max(100-most.Percent, 1))
	}
	return made
}

// buffersOf returns the options of the profile or of its job file, by name. It includes the options that the profile's
// fields refillBuffers and compressibility set.
func buffersOf(profile *v1alpha1.FioProfile) map[string]string {
	set := map[string]string{}
	// If the job file is empty or invalid, parseJobFile returns no sections, so the loop does nothing.
	sections, _ := parseJobFile(profile.JobFile)
	for i := range sections {
		for _, one := range sections[i].settings {
			if _, known := set[one.name]; !known {
				set[one.name] = one.value
			}
		}
	}
	for name, value := range profile.Options {
		if canonical, written, err := checkOption(name, string(value), place{}, true); err == nil {
			set[canonical] = written
		}
	}
	if profile.RefillBuffers != nil && *profile.RefillBuffers {
		set["refill_buffers"] = "1"
	}
	if profile.Compressibility != nil {
		set["buffer_compress_percentage"] = strconv.Itoa(int(profile.Compressibility.Percent))
		if profile.Compressibility.Percent == 0 {
			set["refill_buffers"] = "1"
		}
	}
	return set
}

// blockOf returns the size of the step's operations, or 0 if unknown.
func blockOf(profile *v1alpha1.FioProfile, step *engine.Step) int64 {
	if step.Overrides.BlockSizeBytes > 0 {
		return step.Overrides.BlockSizeBytes
	}
	if profile.BlockSize == nil {
		return 0
	}
	return profile.BlockSize.Value()
}

// number parses an integer. It returns 0 for other text.
func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return value
}
