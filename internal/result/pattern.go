package result

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// pattern is what a tool fills its writes with. Tools and versions differ in it, and a store that compresses turns
// it into speed.
type pattern struct {
	tool          v1alpha1.EngineKind
	version, name string
	// ratioMilli is a thousand times the ratio by which lz4 compresses it; 0 where that is not known.
	ratioMilli int64
	// asked says that it is as the user's own data is, as was asked for: what the storage makes of it is the result.
	asked bool
	// repeats is why it may compress all the same, by how much nobody has measured.
	repeats string
}

// pattern of what the step wrote on the target.
func (b *builder) pattern() pattern {
	engine := b.step.Workloads[b.result.Target]
	switch {
	case engine == nil:
		return pattern{}
	case engine.IOR != nil:
		return iorPattern(engine.IOR, b.jobVersion)
	case engine.Fio != nil:
		made := fioPattern(engine.Fio, b.step)
		if engine.Fio.CompressLike != "" {
			made = b.likePattern(engine.Fio.CompressLike)
		}
		for i := range b.clients {
			made.version = cmp.Or(made.version, b.clients[i].ToolVersion)
		}
		return made
	}
	return pattern{tool: engine.EngineKind(), version: b.jobVersion}
}

// iorRatios are what lz4 -1 makes of a file of IOR with transfers of 1 MiB, measured with IOR 3.3.0 and 4.0.0, in
// thousandths. 3.3.0 takes a letter that it does not know for its default. The Incompressible of 4.0.0 begins its
// random numbers again for each word, so that all words are the same.
var iorRatios = map[string]map[string]int64{
	"3.3": {"Timestamp": 3990, "Offset": 3990, "Incompressible": 990, "Random": 3990},
	"4":   {"Timestamp": 1990, "Offset": 1990, "Incompressible": 202_000, "Random": 990},
}

func iorPattern(profile *v1alpha1.IORProfile, version string) pattern {
	name := cmp.Or(profile.DataPattern, "Timestamp")
	made := pattern{tool: v1alpha1.EngineIOR, version: version, name: name}
	if profile.DataPattern == "" {
		made.name = "default (Timestamp)"
	}
	numbers := strings.TrimPrefix(version, "IOR-")
	for of, ratios := range iorRatios {
		if numbers == of || strings.HasPrefix(numbers, of+".") {
			made.ratioMilli = ratios[name]
		}
	}
	return made
}

const (
	// fioUsual is what lz4 makes of fio's own buffers where blocks are large enough, and allTheSame of nothing but
	// one word, both in records of 128 KiB.
	fioUsual   = 1040
	fioRefill  = 1000
	allTheSame = 235_000
	// repeatsBelow is the size of blocks below which fio's buffers may come again within what a store compresses
	// at once: with one operation in flight lz4 made 10:1 of blocks of 4 KiB and 3.8:1 of 16 KiB, with 32 in flight
	// 1.06:1 of both.
	repeatsBelow = 64 << 10
)

// fioPattern follows from the options that decide what fio's buffers hold. In a job file the first section that says
// something speaks for all.
func fioPattern(profile *v1alpha1.FioProfile, step plan.Step) pattern {
	set := fioBuffers(profile)
	made := pattern{tool: v1alpha1.EngineFio}
	switch {
	case set["zero_buffers"] != "" && set["zero_buffers"] != "0":
		made.name, made.ratioMilli = "zero_buffers", allTheSame
	case set["buffer_pattern"] != "":
		made.name, made.ratioMilli = "buffer_pattern="+set["buffer_pattern"], allTheSame
	case number(set["buffer_compress_percentage"]) > 0:
		percent := min(number(set["buffer_compress_percentage"]), 100)
		made.name, made.ratioMilli = "buffer_compress_percentage="+strconv.Itoa(percent), allTheSame
		if percent < 100 {
			made.ratioMilli = int64(100_000 / (100 - percent))
		}
	case number(set["dedupe_percentage"]) > 0:
		made.name = "dedupe_percentage=" + set["dedupe_percentage"]
		made.repeats = "blocks come again, as dedupe_percentage asks for"
	case set["refill_buffers"] != "" && set["refill_buffers"] != "0":
		made.name, made.ratioMilli = "random, new for each write (refill_buffers)", fioRefill
	case step.Purpose == plan.Prepare:
		made.name, made.ratioMilli = "random", fioUsual // It is laid out in large blocks.
	default:
		made.name = "random"
		if block := fioBlock(profile, step); block >= repeatsBelow {
			made.ratioMilli = fioUsual
		} else {
			made.repeats = "fio writes the same few buffers again and again, which are repetitions for a store where blocks are small and few are in flight"
		}
	}
	return made
}

// likePattern is that of data which is compressed as far as the user's own. Where clients found different data, the one
// that was compressed most is told.
func (b *builder) likePattern(name string) pattern {
	made := pattern{tool: v1alpha1.EngineFio, name: "compressed like " + v1alpha1.Truncate(name, 40), asked: true}
	var most *DataSample
	for i := range b.clients {
		if like := b.clients[i].Like; like != nil && (most == nil || like.RatioMilli > most.RatioMilli) {
			most = like
		}
	}
	if most == nil {
		return made
	}
	made.name += fmt.Sprintf(" (lz4 %s in %s of %s)", ratioText(most.RatioMilli), measure.FormatBytes(most.Bytes), plural(int(min(most.Files, 1<<30)), "file"))
	made.ratioMilli = fioRefill
	if most.Percent > 0 {
		made.ratioMilli = int64(100_000 / max(100-most.Percent, 1))
	}
	return made
}

// fioBuffers are the options about buffers that the profile sets, by fio's names.
func fioBuffers(profile *v1alpha1.FioProfile) map[string]string {
	set := map[string]string{}
	for line := range strings.Lines(profile.JobFile) {
		name, value, given := strings.Cut(strings.TrimSpace(line), "=")
		name = strings.TrimSpace(name)
		if value = strings.TrimSpace(value); !given {
			value = "1" // A flag needs no value.
		}
		if _, known := set[name]; !known && name != "" {
			set[name] = value
		}
	}
	for name, value := range profile.Options {
		set[name] = string(value)
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

// fioBlock is the size of the step's operations; 0 where it is not known.
func fioBlock(profile *v1alpha1.FioProfile, step plan.Step) int64 {
	if step.Overrides.BlockSizeBytes > 0 {
		return step.Overrides.BlockSizeBytes
	}
	if profile.BlockSize == nil {
		return 0
	}
	return profile.BlockSize.Value()
}

// number is 0 for what is none.
func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return value
}

// why says in half a sentence that the pattern compresses.
func (p pattern) why() string {
	if p.ratioMilli == 0 {
		return p.repeats
	}
	of := strings.TrimSpace(string(p.tool) + " " + strings.TrimPrefix(strings.TrimPrefix(p.version, "fio-"), "IOR-"))
	return "the data that " + of + " writes (" + p.name + ") is compressed about " + ratioText(p.ratioMilli) + " by lz4"
}

// remedy says what to set for data that does not compress.
func (p pattern) remedy() string {
	switch {
	case p.tool == v1alpha1.EngineIOR && strings.HasPrefix(strings.TrimPrefix(p.version, "IOR-"), "3."):
		return "set dataPattern to Incompressible for data that does not compress"
	case p.tool == v1alpha1.EngineIOR:
		return "set dataPattern to Random for data that does not compress"
	}
	return "set refillBuffers, without compressibility and other options about buffers, for data that does not compress"
}
