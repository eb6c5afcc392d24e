package fio

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestParseJobFile(t *testing.T) {
	t.Parallel()
	sections, err := parseJobFile(userJobFile + "[global]\nbs=8k\n[third]\nsize=4k\nbssplit=4k/50:8k/50\r\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "[OLTP reads] ioengine=libaio direct=1 bs=65536 size=1048576 buffer_compress_percentage=50 rw=randread iodepth=8 numjobs=2 random_distribution=zipf:1.2\n" +
		"[log writer] buffer_compress_percentage=50 rw=write bs=4096 fsync=1 nrfiles=4 size=524288 buffered=1 ioengine=psync\n" +
		"[third] ioengine=libaio direct=1 buffer_compress_percentage=50 size=4096 bssplit=4k/50:8k/50\n"
	if got := describeSections(sections); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestParseJobFileRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "has no job"},
		{"only global", "[global]\nbs=4k\n", "has no job"},
		{"before a section", "bs=4k\n[a]\n", "line 1: option \"bs=4k\" comes before"},
		{"file name", "[a]\nrw=read\nfilename=/dev/sda\n", "option filename (section [a], line 3) is not allowed: storagebench chooses the file names"},
		{"file name of our own", "[a]\nfilename=data.0.0\n", "storagebench chooses the file names"},
		{"directory", "[global]\ndirectory=/mnt\n[a]\n", "option directory (section [global], line 2)"},
		{"format of names", "[a]\nfilename_format=../x\n", "storagebench chooses the file names"},
		{"opendir", "[a]\nopendir=/etc\n", "storagebench chooses the file names"},
		{"lock file", "[a]\nlockfile=exclusive\n", "storagebench chooses the file names"},
		{"command before", "[a]\nexec_prerun=reboot\n", "benchmarks may not run commands"},
		{"command after", "[a]\nexec_postrun = reboot\n", "benchmarks may not run commands"},
		{"command in the last of many sections", strings.Repeat("[a]\nbs=4k\n", 50) + "[z]\nexec_prerun=id\n", "section [z], line 102"},
		{"include", "[a]\ninclude other.fio\n", "line 2: include is not allowed"},
		{"include without a space", "[a]\nincludeother\n", "line 2: include is not allowed"},
		{"engine with code", "[a]\nioengine=external:/tmp/evil.so\n", "use one of libaio"},
		{"engine with code after a comma", "[a]\nioengine=libaio,external\n", "use one of libaio"},
		{"engine of the network", "[a]\nioengine=net\n", "use one of libaio"},
		{"engine that runs commands", "[a]\nioengine=exec\n", "use one of libaio"},
		{"logs", "[a]\nwrite_bw_log=/tmp/x\n", "trace or log files"},
		{"iolog", "[a]\nread_iolog=/tmp/x\n", "trace or log files"},
		{"huge page file", "[a]\niomem=mmaphuge:/mnt/huge\n", "use one of malloc"},
		{"huge page file by its other name", "[a]\nmem=mmaphuge=/mnt/huge\n", "use one of malloc"},
		{"pattern of a file", "[a]\nbuffer_pattern='/etc/shadow'\n", "files are not allowed"},
		{"runtime", "[a]\nruntime=60\n", "set its duration and warmUp"},
		{"timeout", "[a]\ntimeout=60\n", "set its duration and warmUp"},
		{"ramp", "[a]\nramp_time=60\n", "set its duration and warmUp"},
		{"stonewall", "[a]\n[b]\nstonewall\n", "use a separate phase for each job"},
		{"off", "[a]\ngroup_reporting=0\n", "it is always on: remove it"},
		{"fallocate", "[a]\nfallocate=native\n", "use one of none"},
		{"variable", "[a]\nsize=${SIZE}\n", "use a size"},
		{"arithmetic", "[a]\nsize=$ncpus*1m\n", "use a size"},
		{"expression", "[a]\nsize=(1m*4)\n", "use a size"},
		{"shell", "[a]\nnumjobs=`id`\n", "whole number"},
		{"KiB", "[a]\nsize=4KiB\n", "fio reads 4KiB as a power of 1000: use 4k"},
		{"percent", "[a]\nsize=50%\n", "use a size"},
		{"hex", "[a]\nbs=0x1000\n", "use a size"},
		{"huge size", "[a]\nsize=99999999p\n", "too large"},
		{"twice", "[a]\nbs=4k\nblocksize=8k\n", "duplicate option blocksize (section [a], line 3), also in line 2"},
		{"contradiction", "[a]\ndirect=1\nbuffered=1\n", "both direct and buffered"},
		{"unknown", "[a]\nfrobnicate=1\n", "not on the list"},
		{"case", "[a]\nBS=4k\n", "not on the list"},
		{"dashes", "[a]\n--bs=4k\n", "not on the list"},
		{"zero byte", "[a]\nbs=4k\x00exec_prerun=id\n", "a character that is not printable ASCII"},
		{"carriage return inside", "[a]\nbs=4k\rexec_prerun=id\n", "a character that is not printable ASCII"},
		{"other letters", "[ä]\n", "a character that is not printable ASCII"},
		{"long line", "[a]\nbs=4k" + strings.Repeat(" ", 5000) + "\n", "too long"},
		{"long file", strings.Repeat("# comment\n", 10_000), "the limit is 65536"},
		{"section that is a path", "[/dev/sda]\n", "is not a section"},
		{"section that is a way up", "[../../x]\n", "is not a section"},
		{"section without an end", "[a\nbs=4k\n", "is not a section"},
		{"section with more", "[a] bs=4k\n", "is not a section"},
		{"section of two brackets", "[a][b]\n", "is not a section"},
		{"global in disguise", "[globals]\nbs=4k\n[a]\n", "fio reads [globals] as a global section"},
		{"many sections", strings.Repeat("[a]\n", 300), "too many sections (the limit is 256)"},
		{"empty value", "[a]\nbs=\n", "empty value"},
		{"section by name", "[a]\nname=b\n", "the section's name is the job's name"},
		{"line continued", "[a]\nbs=4k\\\nexec_prerun=id\n", "use a size"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sections, err := parseJobFile(test.text)
			if err == nil {
				for i := range sections {
					err = errors.Join(err, sections[i].checkExclusive())
				}
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestJobFileLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"no size", "[a]\nrw=read\n", "section [a] (line 1) has no size"},
		{"uneven files", "[a]\nsize=1m\nnrfiles=3\n", "cannot be divided evenly into 3 files: use 1048578"},
		{"two sizes", "[a]\nsize=1m\nfilesize=1m\nnrfiles=3\n", "remove size"},
		{"small files", "[a]\nsize=4k\nbs=1m\n", "smaller than a block"},
		{"trim", "[a]\nsize=1m\nrw=trim\n", "only on block devices"},
		{"direct mmap", "[a]\nsize=1m\nioengine=mmap\ndirect=1\n", "cannot be direct"},
		{"depth of psync", "[a]\nsize=1m\niodepth=4\n", "one operation at a time"},
		{"unaligned", "[a]\nsize=1000k\nbs=1000\ndirect=1\n", "multiple of 512"},
		{"unaligned files", "[a]\nsize=10000\nbs=4k\ndirect=1\n", "files of 10000 bytes are not a multiple of 512"},
		{"a sum that overflows", "[a]\nrw=write\nsize=4096p\nnumjobs=4\n[b]\nrw=write\nsize=1\n", "more than 1Pi per client"},
		{"splits that overflow", "[a]\nrw=randwrite\nbssplit=17179869184m/100\nnumjobs=1024\nsize=1m\n", "from 1 byte to 1g"},
		{"engine's option", "[a]\nsize=1m\nhipri\n", "the I/O engine psync does not support it"},
		{"offload of a queue", "[a]\nsize=1m\nioengine=libaio\niodepth=4\nio_submit_mode=offload\n",
			"section [a]: with io_submit_mode=offload"},
		{"zones of no size", "[a]\nsize=1m\nzonemode=strided\n", "section [a]: zonemode=strided needs"},
		{"zones of zero", "[a]\nsize=1m\nzonemode=strided\nzonesize=0\n", "set zonesize, such as 64k"},
		{"zones that are off", "[a]\nsize=1m\nzonesize=64k\n", "zonesize applies only to zonemode=strided"},
		{"many jobs", strings.Repeat("[a]\nsize=1m\nnumjobs=1024\n", 5), "the limit is 4096"},
		{"many files", "[a]\nfilesize=4k\nnrfiles=10000\nnumjobs=11\n", "the limit is 100000"},
		{"dataset", "[a]\nsize=1m\n", "set datasetSize to 1048576"},
	} {
		if _, err := jobFileLoad(test.text, 1); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// fioCommand runs fio with the given input and returns its output.
func fioCommand(t *testing.T, input string, arguments ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("fio is not installed")
	}
	command := exec.CommandContext(t.Context(), path, arguments...)
	command.Dir = t.TempDir()
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	return string(output), err
}

// TestFioReadsAJobFileAsWeDo checks that fio reads the same sections, options and values from an accepted job file.
func TestFioReadsAJobFileAsWeDo(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		userJobFile,
		"[a]\nbs=4k;comment\nsize=1m #x\n\n ; y\n\t# z\n  rw=randrw\t\n[b b]   \nnorandommap\nsize=2m",
		"\n\n[global]\nrw=read\n\n[x:y.z]\nsize=1m\r\niodepth=1\r\n",
		"[a];c\nsize=1m\n[a]#c\nsize=2m\n",
	} {
		printed, err := fioCommand(t, text, "--showcmd", "-")
		if err != nil {
			t.Fatalf("%v: %s", err, printed)
		}
		ours, err := parseJobFile(text)
		if err != nil {
			t.Fatal(err)
		}
		if theirs := readShownCommand(t, printed); describeSections(theirs) != describeSections(ours) {
			t.Errorf("fio reads\n%swe read\n%s", describeSections(theirs), describeSections(ours))
		}
	}
}

// readShownCommand parses the output of fio --showcmd: first the global options, then the options of each job.
func readShownCommand(t *testing.T, printed string) []section {
	t.Helper()
	var sections []section
	var global []setting
	for _, word := range strings.Split(strings.TrimSpace(printed), " --")[1:] {
		name, value, _ := strings.Cut(word, "=")
		value = strings.TrimSpace(value)
		if name == "name" {
			sections = append(sections, section{name: value, settings: global})
			continue
		}
		canonical, written, err := checkOption(strings.TrimSpace(name), value, place{}, false)
		if err != nil {
			t.Fatal(err)
		}
		one := []setting{{name: canonical, value: written}}
		switch last := len(sections) - 1; {
		case allowedOptions[canonical].dropped:
		case last < 0:
			global = mergeSettings(global, one)
		default:
			sections[last].settings = mergeSettings(sections[last].settings, one)
		}
	}
	return sections
}

func describeSections(sections []section) string {
	var text strings.Builder
	for _, one := range sections {
		fmt.Fprintf(&text, "[%s]", one.name)
		for _, s := range one.settings {
			fmt.Fprintf(&text, " %s=%s", s.name, s.value)
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// samples maps each allowed option to a valid value, followed by lines with the other options that it needs.
var samples = map[string]string{
	"rw": "randrw:8k", "rwmixread": "70", "rwmixwrite": "30", "bs": "4k,8k", "bsrange": "4k-64k,8k-16k", "bssplit": "4k/60:64k/40,8k/100",
	"numjobs": "2", "iodepth": "4", "size": "1g", "filesize": "1m", "nrfiles": "4", "direct": "1", "buffered": "0", "ioengine": "psync",
	"rate": "1m,2m", "rate_iops": "100,200", "random_distribution": "zoned:60/10:30/20:10/70", "buffer_compress_percentage": "50",
	"buffer_compress_chunk": "4k", "refill_buffers": "1", "fsync": "8", "fdatasync": "8", "end_fsync": "1", "ba": "4k", "bs_unaligned": "",
	"bs_is_seq_rand": "1", "norandommap": "", "softrandommap": "1", "randrepeat": "0", "allrandrepeat": "1", "random_generator": "lfsr",
	"percentage_random": "50,10", "rw_sequencer": "identical", "zonemode": "strided\nzonesize=64k", "zonesize": "64k\nzonemode=strided",
	"zonerange": "1m\nzonemode=strided\nzonesize=64k", "zoneskip": "64k\nzonemode=strided\nzonesize=64k", "openfiles": "8",
	"file_service_type": "zipf:1.2", "fadvise_hint": "random", "invalidate": "0", "sync": "dsync", "sync_file_range": "wait_before,write:8",
	"write_barrier": "4", "fsync_on_close": "1", "write_hint": "short", "iodepth_batch": "4", "iodepth_batch_complete_min": "0",
	"iodepth_batch_complete_max": "8", "iodepth_low": "2", "serialize_overlap": "1", "io_submit_mode": "offload", "hipri": "",
	"hipri_percentage": "50", "fixedbufs": "", "registerfiles": "1", "sqthread_poll": "1", "sqthread_poll_cpu": "1", "nonvectored": "1",
	"uncached": "1", "force_async": "8", "userspace_reap": "", "cmdprio_percentage": "10", "cmdprio_class": "1", "cmdprio": "3", "thp": "1",
	"thinktime": "100us", "thinktime_spin": "10\nthinktime=100", "thinktime_iotime": "1s\nthinktime=100", "thinktime_blocks": "4", "thinktime_blocks_type": "issue",
	"rate_process": "poisson", "rate_cycle": "1000", "rate_ignore_thinktime": "1", "max_latency": "10s", "flow": "8\nflow_id=1", "flow_id": "1",
	"flow_sleep": "100", "zero_buffers": "", "scramble_buffers": "0", "buffer_pattern": "0xdeadbeef", "dedupe_percentage": "50",
	"dedupe_mode": "working_set", "dedupe_working_set_percentage": "10", "dedupe_global": "1", "thread": "", "new_group": "", "nice": "-1",
	"prio": "3", "prioclass": "2", "cpus_allowed": "0-1", "cpus_allowed_policy": "split", "numa_cpu_nodes": "0", "numa_mem_policy": "bind:0",
	"iomem": "shm", "iomem_align": "4k", "clocksource": "clock_gettime", "continue_on_error": "write", "error_dump": "1",
	"group_reporting": "", "time_based": "", "lat_percentiles": "1", "clat_percentiles": "1", "fallocate": "none", "description": "a load",
}

// TestFioKnowsEveryAllowedOption checks that fio has every allowed option and accepts a value that we accept.
func TestFioKnowsEveryAllowedOption(t *testing.T) {
	t.Parallel()
	if missing := slices.DeleteFunc(slices.Sorted(maps.Keys(allowedOptions)), func(name string) bool { _, ok := samples[name]; return ok }); len(missing) > 0 {
		t.Errorf("no sample value for %v", missing)
	}
	// Use one job file with a job for each option, because fio takes a fifth of a second to start.
	var text strings.Builder
	for name, value := range samples {
		value, more, _ := strings.Cut(value, "\n")
		_, written, err := checkOption(name, value, place{}, false)
		if err != nil {
			t.Error(err)
			continue
		}
		if name == "description" {
			written = value
		}
		settings := map[string]string{"rw": "read", "size": "16m", "bs": "4k", "ioengine": "psync"}
		if engines := allowedOptions[name].engines; len(engines) > 0 {
			settings["ioengine"] = engines[0]
		}
		if name == "time_based" {
			settings["runtime"] = "1"
		}
		settings[name] = written
		fmt.Fprintf(&text, "[%s]\n%s\n", name, more)
		for own, value := range settings {
			fmt.Fprintf(&text, "%s=%s\n", own, value)
		}
	}
	if printed, err := fioCommand(t, text.String(), "--parse-only", "-"); err != nil || strings.Contains(printed, "Bad option") {
		t.Errorf("%v: %s", err, printed)
	}
}

// TestRefusedOptionsAreNotAllowed checks that no option is both allowed and refused for a reason of its own.
func TestRefusedOptionsAreNotAllowed(t *testing.T) {
	t.Parallel()
	for name := range refusedOptions {
		if _, ok := allowedOptions[name]; ok {
			t.Errorf("%s is allowed and refused", name)
		}
	}
	for alias, name := range aliases {
		_, allowed := allowedOptions[name]
		_, refused := refusedOptions[name]
		if !allowed && !refused {
			t.Errorf("%s is another name of %s, which is unknown", alias, name)
		}
		if _, twice := allowedOptions[alias]; twice {
			t.Errorf("%s is an option and an alias", alias)
		}
	}
}

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"0": 0, "512": 512, "4k": 4096, "4K": 4096, "4kb": 4096, "4Ki": 4096, "1m": 1 << 20, "2G": 2 << 30, "3t": 3 << 40, "1p": 1 << 50} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "k", "-1", "+1", "1.5m", "4kib", "1e3", "4x", "4 k", "4b", "4i", "5000p", "18446744073709551616"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// TestFioReadsSizesAsWeDo checks that fio and parseSize agree on sizes.
func TestFioReadsSizesAsWeDo(t *testing.T) {
	t.Parallel()
	var text, want strings.Builder
	for i, size := range []string{"512", "4k", "4K", "4kb", "4Ki", "3m", "2G", "1Gi", "1gb", "1t"} {
		bytes, err := parseSize(size)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "[job%d]\nsize=%s\n", i, size)
		fmt.Fprintln(&want, bytes)
	}
	printed, err := fioCommand(t, text.String(), "--parse-only", "--debug=parse", "-")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, found := range regexp.MustCompile(`out=([0-9]+)\n`).FindAllStringSubmatch(printed, -1) {
		fmt.Fprintln(&got, found[1])
	}
	if got.String() != want.String() {
		t.Errorf("fio reads\n%swe read\n%s", got.String(), want.String())
	}
}
