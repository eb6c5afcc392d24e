package convert

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/internal/engine/fio"
)

// fioEssential lists options that define the load. If the profile cannot express the value of such an option, the
// conversion fails.
var fioEssential = []string{
	"rw", "bs", "bsrange", "bssplit", "size", "filesize", "numjobs", "nrfiles", "iodepth", "ioengine", "direct", "buffered", "rwmixread", "rwmixwrite",
}

// fioSizes lists options whose values are sizes.
var fioSizes = []string{
	"bs", "bsrange", "bssplit", "size", "filesize", "ba", "zonesize", "zonerange", "zoneskip", "buffer_compress_chunk", "rate", "iomem_align", "offset_increment",
}

// fioElsewhere lists options that a profile cannot contain, because the benchmark sets them. It maps each option to the
// remedy, such as the setting to use instead.
var fioElsewhere = map[string]string{
	"directory": "set the target's path or claim", "randseed": "set the seed of an earlier run to repeat its offsets",
	"loops": "set a duration in the phase, or repeat the phase", "startdelay": "use a separate phase for the load that runs before this job",
	"steadystate": "set endWhenSteady in a steady phase", "steadystate_duration": "", "steadystate_ramp_time": "", "ss_interval": "",
	"wait_for": "use one phase per job",
}

// fioUnneeded lists options that can simply be omitted. It maps each option to the reason.
var fioUnneeded = map[string]string{
	"unlink": "the target's dataPolicy determines whether files are removed", "unlink_each_loop": "the target's dataPolicy determines whether files are removed", "create_serialize": whyLayout,
	"create_on_open": whyLayout, "create_only": whyLayout, "create_fsync": whyLayout, "allow_file_create": whyLayout, "overwrite": whyLayout, "fallocate": whyLayout,
	"disable_lat": whyLatency, "disable_clat": whyLatency, "disable_slat": whyLatency, "disable_bw_measurement": whyLatency, "disable_bw": whyLatency,
	"gtod_reduce": whyLatency, "slat_percentiles": whyLatency, "percentile_list": whyLatency, "stats": whyLatency, "bwavgtime": whyLatency, "iopsavgtime": whyLatency,
	"unified_rw_reporting": whyOutput, "write_bw_log": whyOutput, "write_lat_log": whyOutput, "write_iops_log": whyOutput, "write_hist_log": whyOutput,
	"log_avg_msec": whyOutput, "log_hist_msec": whyOutput, "log_hist_coarseness": whyOutput, "log_max_value": whyOutput, "log_offset": whyOutput,
	"log_unix_epoch": whyOutput, "log_compression": whyOutput, "per_job_logs": whyOutput, "disk_util": whyOutput, "unit_base": whyOutput,
	"exitall_on_error": "any error ends the step", "exitall": "all jobs end with the phase",
}

const (
	whyLayout  = "a prepare phase writes files before they are read"
	whyLatency = "latency is always measured, with all percentiles"
)

// readFioJob parses the options of a section.
func readFioJob(section *fioSection) (*fioJob, error) {
	j := &fioJob{name: section.name, jobs: 1, files: 1, depth: 1, block: 4096, engine: "psync", direction: "read"}
	var problems []error
	for _, option := range section.options {
		if err := j.option(option); err != nil {
			problems = append(problems, err)
		}
	}
	for _, one := range j.keep {
		j.figure(one)
	}
	j.keep = slices.DeleteFunc(j.keep, func(one fio.KnownOption) bool { return slices.Contains(fioFigures, one.Name) })
	return j, all(problems)
}

// option adds an option to the job, or a note that explains why the profile does not contain the option.
func (j *fioJob) option(o fioOption) error {
	if slices.Contains(fioSizes, o.name) {
		if written, changed := fioBytes(o.value); changed {
			j.notes.differs(o.String(), "fio reads this unit as a power of 1000, and so does the profile: "+shown(written)+" bytes",
				"for a power of 1024, use a unit without iB, such as 4k")
			o.value = written
		}
	}
	if done, err := j.special(o); done || err != nil {
		return err
	}
	if remedy, ok := fioElsewhere[o.name]; ok {
		j.notes.elsewhere(o.String(), "the benchmark sets it", remedy)
		return nil
	}
	if why, ok := fioUnneeded[o.name]; ok {
		j.notes.unneeded(o.String(), why)
		return nil
	}
	known, err := fio.Known(o.name, o.value)
	switch {
	case err != nil && slices.Contains(fioEssential, o.name):
		return err
	case err != nil:
		_, why, _ := strings.Cut(err.Error(), "is not allowed: ")
		if why == "" {
			why = err.Error()
		}
		j.notes.differs(o.String(), shownWhy(why), "")
	case known.Done:
		j.notes.unneeded(o.String(), "already the default here")
	default:
		j.add(known)
	}
	return nil
}

// shownWhy prepares an engine's reason for rejecting an option for display. Because the reason may quote user input,
// shownWhy truncates it to 300 bytes and replaces everything except printable ASCII.
func shownWhy(why string) string {
	if len(why) > 300 {
		why = why[:300]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, why)
}

// fioExclusive lists groups of options that override each other: only the last option given in a group takes effect.
var fioExclusive = [][]string{{"bs", "bsrange", "bssplit"}, {"direct", "buffered"}, {"rwmixread", "rwmixwrite"}}

func (j *fioJob) add(known fio.KnownOption) {
	j.keep = slices.DeleteFunc(j.keep, func(old fio.KnownOption) bool {
		return slices.ContainsFunc(fioExclusive, func(group []string) bool {
			return slices.Contains(group, old.Name) && slices.Contains(group, known.Name)
		})
	})
	j.keep = append(j.keep, known)
}

// special converts an option to which the general rules do not apply. It returns false for all other options.
func (j *fioJob) special(o fioOption) (done bool, err error) {
	switch o.name {
	case "runtime", "ramp_time":
		target := &j.runtime
		if o.name == "ramp_time" {
			target = &j.warmUp
		}
		if *target, err = fioTime(o.value); err != nil {
			return true, fmt.Errorf("option %s: %w", shown(o.String()), err)
		}
	case "time_based":
		j.timed = o.value != "0"
	case "stonewall":
		j.waits = o.value != "0"
	case "wait_for":
		j.waits = true
		return false, nil
	case "filename":
		return true, j.files1(o)
	case "kb_base":
		if o.value != "1024" {
			return true, fmt.Errorf("option %s: changes the meaning of all units: remove it, and write the sizes in bytes", shown(o.String()))
		}
		j.notes.unneeded(o.String(), "already the default here")
	case "offset_increment":
		known, err := fio.Known("size", o.value)
		if err == nil {
			j.increment, err = strconv.ParseUint(known.Value, 10, 64)
		}
		if err != nil {
			return true, fmt.Errorf("option %s: must be a size", shown(o.String()))
		}
	case "ioengine":
		if o.value == "windowsaio" || o.value == "solarisaio" {
			j.notes.differs(o.String(), "clients run Linux, where libaio is the equivalent", "")
			j.add(fio.KnownOption{Name: "ioengine", Value: "libaio"})
			return true, nil
		}
		return false, nil
	default:
		return false, nil
	}
	return true, nil
}

// files1 parses the option filename: a colon-separated list of the files that the jobs of the section share.
func (j *fioJob) files1(o fioOption) error {
	if o.value == "" {
		return errors.New("option filename: needs the name of a file")
	}
	names := []string{o.value}
	if !strings.HasPrefix(o.value, `\\`) {
		names = strings.Split(strings.ReplaceAll(o.value, `\:`, ""), ":")
	}
	j.shared, j.fileName, j.files = true, o.value, uint64(len(names))
	folders := map[string]bool{}
	for _, name := range names {
		folders[path.Dir(name)] = true
	}
	switch {
	case strings.HasPrefix(o.value, "/dev/") && len(names) > 1:
		j.notes.elsewhere(o.String(), "storagebench accesses raw devices through claims with volumeMode: Block",
			"use a target with one such volume per device; the profile's datasetSize is the total size of the data on them")
	case strings.HasPrefix(o.value, "/dev/"):
		j.notes.elsewhere(o.String(), "storagebench accesses a raw device through a claim with volumeMode: Block", "use such a volume in the target; the profile's datasetSize is the size of the data on it")
	case len(folders) > 1:
		j.notes.elsewhere(o.String(), "storagebench chooses its own file names under the target's volumes",
			fmt.Sprintf("use a target with a volume for each of the %d directories; filesPerJob then counts the files on each volume",
				len(folders)))
	default:
		j.notes.elsewhere(o.String(), "storagebench chooses its own file names under the target's path", "set the target's path or claim")
	}
	return nil
}

// fioFigures lists the options that have their own field in fioJob.
var fioFigures = []string{"numjobs", "nrfiles", "iodepth", "size", "filesize", "direct", "buffered", "ioengine", "rw"}

func (j *fioJob) figure(o fio.KnownOption) {
	number, err := strconv.ParseUint(o.Value, 10, 64)
	switch o.Name {
	case "ioengine":
		j.engine = o.Value
		return
	case "rw":
		j.direction = o.Value
		return
	case "bs":
		j.block = number // bs may list several sizes; parsing then fails and number remains 0
		return
	case "bsrange", "bssplit":
		j.block = 0
		return
	}
	if err != nil {
		return
	}
	switch o.Name {
	case "numjobs":
		j.jobs = number
	case "nrfiles":
		if j.fileName == "" {
			j.files = number
		}
	case "iodepth":
		j.depth = number
	case "size":
		j.size = number
	case "filesize":
		j.filesize = number
	case "direct":
		j.direct = number == 1
	case "buffered":
		j.direct = number == 0
	}
}
