package fio

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// option describes a fio option that users may set.
type option struct {
	rule valueRule
	// field is the field of the profile that sets the option, or "" if there is none. An option with a field may occur
	// in a job file but not in the profile's options, so that there is only one way to set it.
	field string
	// engines lists the I/O engines that have the option; empty means all.
	engines []string
	// dropped is true if the option is accepted but not written to the job file, because storagebench always does what
	// it requests.
	dropped bool
}

// aliases maps fio's alternative option names to the names in allowedOptions and refusedOptions.
var aliases = map[string]string{
	"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange", "blockalign": "ba",
	"blocksize_unaligned": "bs_unaligned", "iodepth_batch_submit": "iodepth_batch",
	"iodepth_batch_complete": "iodepth_batch_complete_min", "nr_files": "nrfiles", "mem": "iomem",
	"mem_align": "iomem_align", "ratecycle": "rate_cycle", "timeout": "runtime",
	"wait_for_previous": "stonewall", "ratemin": "rate_min", "io_limit": "io_size", "ss": "steadystate",
	"ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time", "steadystate_ramp": "steadystate_ramp_time",
	"file_size": "filesize",
}

const (
	percentRemedy = "use up to three percentages from 0 to 100, separated by commas"
	depthMost     = 4096
	countMost     = 1_000_000_000
)

// ioEngines lists the allowed I/O engines: those that work on files in the working directory, and null, which does no
// I/O. The value is true if the engine can keep more than one operation outstanding.
var ioEngines = map[string]bool{
	"libaio": true, "io_uring": true, "posixaio": true, "null": true,
	"psync": false, "sync": false, "vsync": false, "pvsync": false, "pvsync2": false, "mmap": false, "splice": false,
}

// allowedOptions lists all options that users may set. Any other option is refused; refusedOptions only adds specific
// reasons.
var allowedOptions = map[string]option{
	// Options that the profile's own fields set.
	"rw": {field: "pattern and readPercent", rule: matching(
		`(?:read|write|trim|randread|randwrite|randtrim|rw|readwrite|randrw|trimwrite|randtrimwrite)(?::[0-9]{1,9}[kKmMgG]?)?`,
		"use one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, trimwrite, randtrimwrite")},
	"rwmixread":                  {field: "readPercent", rule: integer(0, 100)},
	"rwmixwrite":                 {field: "readPercent", rule: integer(0, 100)},
	"bs":                         {field: "blockSize", rule: blockSizes},
	"bsrange":                    {field: "blockSize", rule: ranges},
	"bssplit":                    {field: "blockSize", rule: splits},
	"numjobs":                    {field: "jobs", rule: integer(1, 1024)},
	"iodepth":                    {field: "queueDepth", rule: integer(1, depthMost)},
	"size":                       {field: "datasetSize", rule: size},
	"filesize":                   {field: "datasetSize and filesPerJob", rule: size},
	"nrfiles":                    {field: "filesPerJob", rule: integer(1, 10_000)},
	"direct":                     {field: "direct", rule: bool01},
	"buffered":                   {field: "direct", rule: bool01},
	"ioengine":                   {field: "ioEngine", rule: oneOf("libaio", "io_uring", "posixaio", "psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "null")},
	"rate":                       {field: "rateLimit.bytesPerSecond", rule: sizes},
	"rate_iops":                  {field: "rateLimit.iops", rule: matching(`[0-9]{1,10}(?:,[0-9]{0,10}){0,2}`, "use up to three rates in operations per second, separated by commas")},
	"random_distribution":        {field: "randomDistribution", rule: distribution},
	"buffer_compress_percentage": {field: "compressibility.percent", rule: integer(0, 100)},
	"buffer_compress_chunk":      {field: "compressibility.chunkSize", rule: size},
	"refill_buffers":             {field: "refillBuffers", rule: flag01},
	"fsync":                      {field: "fsync.everyWrites", rule: integer(0, countMost)},
	"fdatasync":                  {field: "fsync.everyWrites with fsync.data", rule: integer(0, countMost)},
	"end_fsync":                  {field: "fsync.atEnd", rule: bool01},

	// Options for offsets and block sizes.
	"ba":                {rule: sizes},
	"bs_unaligned":      {rule: flag01},
	"bs_is_seq_rand":    {rule: bool01},
	"norandommap":       {rule: flag01},
	"softrandommap":     {rule: bool01},
	"randrepeat":        {rule: bool01},
	"allrandrepeat":     {rule: bool01},
	"random_generator":  {rule: oneOf("tausworthe", "lfsr", "tausworthe64")},
	"percentage_random": {rule: matching(`(?:100|[0-9]{1,2})(?:,(?:100|[0-9]{1,2})){0,2}`, percentRemedy)},
	"rw_sequencer":      {rule: oneOf("sequential", "identical")},
	"zonemode":          {rule: oneOf("none", "strided")},
	"zonesize":          {rule: size},
	"zonerange":         {rule: size},
	"zoneskip":          {rule: size},

	// Options for files and caches.
	"openfiles":         {rule: integer(1, 100_000)},
	"file_service_type": {rule: matching(`(?:random|roundrobin|sequential|zipf|pareto|normal|gauss)(?::[0-9]{1,3}(?:\.[0-9]{1,6})?){0,2}`, "use one of random, roundrobin, sequential, zipf, pareto, normal")},
	"fadvise_hint":      {rule: oneOf("0", "1", "none", "sequential", "random", "noreuse")},
	"invalidate":        {rule: bool01},
	"sync":              {rule: oneOf("0", "1", "none", "sync", "dsync")},
	"sync_file_range":   {rule: matching(`(?:wait_before|write|wait_after)(?:,(?:wait_before|write|wait_after)){0,2}:[0-9]{1,9}`, "use, for example, write:8")},
	"write_barrier":     {rule: integer(0, countMost)},
	"fsync_on_close":    {rule: bool01},
	"write_hint":        {rule: oneOf("none", "short", "medium", "long", "extreme")},

	// Options for queues and submission.
	"iodepth_batch":              {rule: integer(0, depthMost)},
	"iodepth_batch_complete_min": {rule: integer(0, depthMost)},
	"iodepth_batch_complete_max": {rule: integer(0, depthMost)},
	"iodepth_low":                {rule: integer(0, depthMost)},
	"serialize_overlap":          {rule: bool01},
	"io_submit_mode":             {rule: oneOf("inline", "offload")},
	"hipri":                      {rule: flag01, engines: []string{"io_uring", "pvsync2"}},
	"hipri_percentage":           {rule: integer(0, 100), engines: []string{"pvsync2"}},
	"fixedbufs":                  {rule: flag01, engines: []string{"io_uring"}},
	"registerfiles":              {rule: flag01, engines: []string{"io_uring"}},
	"sqthread_poll":              {rule: flag01, engines: []string{"io_uring"}},
	"sqthread_poll_cpu":          {rule: integer(0, 4095), engines: []string{"io_uring"}},
	"nonvectored":                {rule: flag01, engines: []string{"io_uring"}},
	"uncached":                   {rule: flag01, engines: []string{"io_uring", "pvsync2"}},
	"force_async":                {rule: integer(0, countMost), engines: []string{"io_uring"}},
	"userspace_reap":             {rule: flag01, engines: []string{"libaio"}},
	"cmdprio_percentage":         {rule: integer(0, 100), engines: []string{"io_uring", "libaio"}},
	"cmdprio_class":              {rule: integer(0, 3), engines: []string{"io_uring", "libaio"}},
	"cmdprio":                    {rule: integer(0, 7), engines: []string{"io_uring", "libaio"}},
	"thp":                        {rule: flag01, engines: []string{"mmap"}},

	// Options for rates and pauses.
	"thinktime":             {rule: thinkTime},
	"thinktime_spin":        {rule: thinkTime},
	"thinktime_iotime":      {rule: thinkTime},
	"thinktime_blocks":      {rule: integer(1, countMost)},
	"thinktime_blocks_type": {rule: oneOf("complete", "issue")},
	"rate_process":          {rule: oneOf("linear", "poisson")},
	"rate_cycle":            {rule: integer(1, 3_600_000)},
	"rate_ignore_thinktime": {rule: bool01},
	"max_latency":           {rule: thinkTime},
	"flow":                  {rule: integer(0, 1000)},
	"flow_id":               {rule: integer(0, countMost)},
	"flow_sleep":            {rule: integer(0, countMost)},

	// Options for the content of the written data.
	"zero_buffers":                  {rule: flag01},
	"scramble_buffers":              {rule: bool01},
	"buffer_pattern":                {rule: matching(`0x[0-9a-fA-F]{1,512}|[0-9]{1,10}`, "use a number, such as 0xdeadbeef: strings and files are not allowed")},
	"dedupe_percentage":             {rule: integer(0, 100)},
	"dedupe_mode":                   {rule: oneOf("repeat", "working_set")},
	"dedupe_working_set_percentage": {rule: integer(0, 100)},
	"dedupe_global":                 {rule: bool01},

	// Options for processes and memory.
	"thread":              {rule: flag01},
	"new_group":           {rule: flag01},
	"nice":                {rule: integer(-20, 19)},
	"prio":                {rule: integer(0, 7)},
	"prioclass":           {rule: integer(0, 3)},
	"cpus_allowed":        {rule: matching(`[0-9]{1,4}(?:[-,:][0-9]{1,4})*`, "use a list of CPUs, such as 0-3,8")},
	"cpus_allowed_policy": {rule: oneOf("shared", "split")},
	"numa_cpu_nodes":      {rule: matching(`all|[0-9]{1,4}(?:[-,][0-9]{1,4})*`, "use a list of NUMA nodes, such as 0-1")},
	"numa_mem_policy":     {rule: matching(`(?:default|prefer|bind|interleave|local)(?::[0-9]{1,4}(?:[-,][0-9]{1,4})*)?`, "use, for example, bind:0")},
	"iomem":               {rule: oneOf("malloc", "shm", "mmap")},
	"iomem_align":         {rule: size},
	"clocksource":         {rule: oneOf("gettimeofday", "clock_gettime", "cpu")},
	"continue_on_error":   {rule: oneOf("none", "read", "write", "io", "all", "0", "1")},
	"error_dump":          {rule: bool01},

	// Options that are accepted but not written, because storagebench always does what they request, or because they
	// have no effect.
	"group_reporting":  {dropped: true, rule: onlyOn},
	"time_based":       {dropped: true, rule: onlyOn},
	"lat_percentiles":  {dropped: true, rule: onlyOn},
	"clat_percentiles": {dropped: true, rule: onlyOn},
	"fallocate":        {dropped: true, rule: oneOf("none")},
	"description":      {dropped: true, rule: func(string) (string, error) { return "", nil }},
}

func onlyOn(value string) (string, error) {
	if value == "" || value == "1" {
		return "1", nil
	}
	return "", errFixed
}

var thinkTime = matching(`[0-9]{1,12}(?:us|ms|s)?`, "use a time in microseconds, or with the unit us, ms or s")

// distribution checks random_distribution. Zipf's distribution is not defined for the exponent 1. fio itself checks the
// sums of zones only when it starts, so distribution checks them too. It skips distributions that have separate zones
// for reads and writes (with commas).
func distribution(value string) (string, error) {
	if zipfOfOne.MatchString(value) {
		return "", errors.New("zipf is not defined for 1; use zipf:1.1 or zipf:0.9")
	}
	written, err := knownDistribution(value)
	if err != nil {
		return "", err
	}
	kind, rest, _ := strings.Cut(value, ":")
	first, _, _ := strings.Cut(rest, ":")
	number, _ := strconv.ParseFloat(first, 64)
	switch {
	case kind == "pareto" && (number <= 0 || number >= 1):
		return "", errors.New("pareto needs a number between 0 and 1; use pareto:0.9")
	case kind == "normal" && number >= 100:
		return "", errors.New("normal needs a deviation below 100; use normal:20")
	case strings.HasPrefix(kind, "zoned") && !strings.Contains(rest, ","):
		return written, checkZones(rest, kind == "zoned")
	}
	return written, nil
}

// checkZones checks the zones ACCESS/SIZE of a distribution. fio ignores decimals, so 33.3 counts as 33.
func checkZones(zones string, inPercent bool) error {
	var accesses, sizes uint64
	for zone := range strings.SplitSeq(zones, ":") {
		access, share, _ := strings.Cut(zone, "/")
		access, _, _ = strings.Cut(access, ".")
		number, _ := strconv.ParseUint(access, 10, 64)
		accesses += number
		number, _ = strconv.ParseUint(strings.TrimRight(share, "kKmMgGtT"), 10, 64)
		sizes += min(number, 100) // fio limits each percentage to 100
	}
	switch {
	case accesses != 100:
		return fmt.Errorf("the access percentages, without decimals, add up to %d, but must add up to 100, "+
			"as in zoned:60/10:40/90", accesses)
	case inPercent && sizes > 100:
		return fmt.Errorf("the sizes add up to %d percent; use at most 100, as in zoned:60/10:40/90", sizes)
	}
	return nil
}

var zipfOfOne = regexp.MustCompile(`^zipf:0*1(\.0*)?(:|$)`)

var knownDistribution = matching(`random|`+
	`(?:zipf|pareto|normal):[0-9]{1,6}(?:\.[0-9]{1,9})?(?::[0-9]{1,6}(?:\.[0-9]{1,9})?)?|`+
	`(?:zoned|zoned_abs):[0-9]{1,3}(?:\.[0-9]{1,3})?/[0-9]{1,18}[kKmMgGtT]?(?:[:,][0-9]{1,3}(?:\.[0-9]{1,3})?/[0-9]{1,18}[kKmMgGtT]?)*`,
	"use random, zipf:THETA, pareto:H, normal:DEVIATION or zoned:ACCESS/SIZE:ACCESS/SIZE with percentages")
