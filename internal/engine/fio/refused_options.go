package fio

import (
	"errors"
	"fmt"
	"strings"
)

// errFixed is returned if the value of an option would change a setting that storagebench depends on.
var errFixed = errors.New("it is always on: remove it")

const (
	whyFiles   = "storagebench chooses the file names below the target's path, and sections do not share files: set size, nrfiles and numjobs instead"
	whyCommand = "benchmarks may not run commands on nodes: remove it"
	whyPhase   = "the phase sets the duration: set its duration and warmUp"
	whyLatency = "storagebench sets it to measure latency"
	whySteps   = "all jobs of a phase run at the same time: use a separate phase for each job"
	whyEnds    = "it ends the load before the end of the phase"
	whySame    = "it may select bytes that were never laid out: set datasetSize, or size in a job file"
	whyVerify  = "data verification with fio is not supported"
	whyPlace   = "fio runs as the pod's user and group, in the pod's control group"
	whyTrace   = "it reads or writes trace or log files"
	whySpill   = "it writes beyond the dataset"
	whyErrors  = "it hides errors"
	whyOurs    = "storagebench sets it"
)

// refusedOptions holds the reasons for refusing well-known options.
var refusedOptions = map[string]string{
	"filename": whyFiles, "directory": whyFiles, "filename_format": whyFiles, "opendir": whyFiles,
	"lockfile": whyFiles, "unique_filename": whyFiles, "fill_device": whySpill, "file_append": whySpill,
	"unlink": whyOurs + "; the target's dataPolicy determines whether data is removed", "unlink_each_loop": whyOurs, "create_only": whyOurs,
	"create_on_open": whyOurs, "create_serialize": whyOurs, "create_fsync": whyOurs, "allow_file_create": whyOurs,
	"allow_mounted_write": "it would overwrite a mounted device", "pre_read": "it reads the files into the cache first", "overwrite": whyOurs,
	"exec_prerun": whyCommand, "exec_postrun": whyCommand, "ioscheduler": "it changes the node's devices",
	"profile": "it replaces the whole job", "include": "it reads another file",
	"runtime": whyPhase, "ramp_time": whyPhase, "ramp_size": whyPhase, "loops": whyPhase, "startdelay": whyPhase,
	"steadystate": whyEnds, "steadystate_duration": whyEnds, "steadystate_ramp_time": whyEnds, "ss_interval": whyEnds,
	"number_ios": whyEnds, "io_size": whyEnds, "exitall": whyEnds, "exit_what": whyEnds, "rate_min": whyEnds, "rate_iops_min": whyEnds,
	"exitall_on_error": whyOurs,
	"stonewall":        whySteps, "wait_for": whySteps,
	"offset": whySame, "offset_increment": whySame, "offset_align": whySame,
	"verify": whyVerify, "do_verify": whyVerify, "verify_only": whyVerify, "verify_interval": whyVerify, "verify_pattern": whyVerify,
	"verify_fatal": whyVerify, "verify_dump": whyVerify, "verify_async": whyVerify, "verify_backlog": whyVerify, "verify_offset": whyVerify,
	"verify_state_load": whyTrace, "verify_state_save": whyTrace, "experimental_verify": whyVerify,
	"uid": whyPlace, "gid": whyPlace, "cgroup": whyPlace, "cgroup_weight": whyPlace, "cgroup_nodelete": whyPlace,
	"write_bw_log": whyTrace, "write_lat_log": whyTrace, "write_iops_log": whyTrace, "write_hist_log": whyTrace,
	"write_iolog": whyTrace, "read_iolog": whyTrace, "merge_blktrace_file": whyTrace, "replay_redirect": whyTrace, "per_job_logs": whyTrace,
	"ignore_error": whyErrors, "gtod_reduce": whyLatency, "disable_lat": whyLatency, "disable_clat": whyLatency,
	"disable_slat": whyLatency, "slat_percentiles": whyLatency, "percentile_list": whyLatency, "stats": whyLatency,
	"unified_rw_reporting": "reads and writes are always reported separately",
	"kb_base":              "it changes the meaning of sizes", "unit_base": "it changes the meaning of the figures",
	"randseed": whyOurs + " from the seed of the run", "name": "the section's name is the job's name",
	"latency_target": whyEnds + " or changes the queue depth", "latency_window": whyEnds, "latency_percentile": whyEnds, "latency_run": whyEnds,
}

// place is the position of an option in a job file, for messages.
type place struct {
	section string
	line    int
}

func (p place) String() string {
	if p.line == 0 {
		return ""
	}
	return fmt.Sprintf(" (section [%s], line %d)", p.section, p.line)
}

// checkOption checks an option. It returns the option's main name, and its value as it is written to the job file.
// typed is true for an option in the options map of a profile, and false for an option in a job file.
func checkOption(name, value string, where place, typed bool) (canonical, written string, err error) {
	canonical = MainName(name)
	allowed, ok := allowedOptions[canonical]
	if !ok {
		why, known := refusedOptions[canonical]
		if !known {
			why = "it is not on the list of allowed options"
		}
		return "", "", fmt.Errorf("option %s%s is not allowed: %s", clip(name), where, why)
	}
	if typed && allowed.field != "" {
		return "", "", fmt.Errorf("option %s is not allowed: set %s in the profile", name, allowed.field)
	}
	if i := strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		return "", "", fmt.Errorf("option %s%s: the value has a character that is not printable ASCII", name, where)
	}
	if written, err = allowed.rule(value); err != nil {
		return "", "", fmt.Errorf("option %s=%s%s is not allowed: %w", name, clip(value), where, err)
	}
	return canonical, written, nil
}

// checkEngineOption returns an error if the section's engine does not have the option.
func checkEngineOption(name, engine string, where place) error {
	for _, has := range allowedOptions[name].engines {
		if has == engine {
			return nil
		}
	}
	if engines := allowedOptions[name].engines; len(engines) > 0 {
		return fmt.Errorf("option %s%s is not allowed: the I/O engine %s does not support it, only %s", name, where, engine, strings.Join(engines, ", "))
	}
	return nil
}
