package fio

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/test/golden"
)

type edit func(*v1alpha1.FioProfile)

// profileWith returns a profile with 4 KiB random reads by one job on 8 MiB, modified by edits.
func profileWith(edits ...edit) *v1alpha1.FioProfile {
	profile := &v1alpha1.FioProfile{
		Pattern: v1alpha1.FioRandom, ReadPercent: new(int32(100)),
		BlockSize: new(resource.MustParse("4Ki")), DatasetSize: resource.MustParse("8Mi"),
	}
	for _, change := range edits {
		change(profile)
	}
	return profile
}

func withJobs(n int32) edit        { return func(p *v1alpha1.FioProfile) { p.Jobs = &n } }
func withDepth(n int32) edit       { return func(p *v1alpha1.FioProfile) { p.QueueDepth = &n } }
func withFiles(n int32) edit       { return func(p *v1alpha1.FioProfile) { p.FilesPerJob = &n } }
func withReadPercent(n int32) edit { return func(p *v1alpha1.FioProfile) { p.ReadPercent = &n } }
func withDirect(on bool) edit      { return func(p *v1alpha1.FioProfile) { p.Direct = &on } }
func withBlock(text string) edit {
	return func(p *v1alpha1.FioProfile) { p.BlockSize = new(resource.MustParse(text)) }
}
func withDataset(text string) edit {
	return func(p *v1alpha1.FioProfile) { p.DatasetSize = resource.MustParse(text) }
}
func withEngine(engine v1alpha1.FioIOEngine) edit {
	return func(p *v1alpha1.FioProfile) { p.IOEngine = engine }
}
func withRate(bytes string, iops int64) edit {
	return func(p *v1alpha1.FioProfile) {
		p.RateLimit = &v1alpha1.FioRateLimit{}
		if bytes != "" {
			p.RateLimit.BytesPerSecond = new(resource.MustParse(bytes))
		}
		if iops != 0 {
			p.RateLimit.IOPS = &iops
		}
	}
}
func withOption(name, value string) edit {
	return func(p *v1alpha1.FioProfile) {
		if p.Options == nil {
			p.Options = map[string]v1alpha1.FioOptionValue{}
		}
		p.Options[name] = v1alpha1.FioOptionValue(value)
	}
}
func withJobFile(text, dataset string) edit {
	return func(p *v1alpha1.FioProfile) {
		*p = v1alpha1.FioProfile{JobFile: text, DatasetSize: resource.MustParse(dataset)}
	}
}
func distributed(text string) edit {
	return func(p *v1alpha1.FioProfile) { p.RandomDistribution = text }
}
func sequential(p *v1alpha1.FioProfile) { p.Pattern = v1alpha1.FioSequential }
func shared(p *v1alpha1.FioProfile)     { p.FileSharing = v1alpha1.FilesShared }

const userJobFile = `; from a colleague
[global]
ioengine = libaio   # async
direct=1
group_reporting
time_based
bs=64k
size=1m
buffer_compress_percentage=50

[OLTP reads]
rw=randread
iodepth=8
numjobs=2
random_distribution=zipf:1.2

[log writer]
rw=write
bs=4k
fsync=1
nrfiles=4
size=512k
buffered=1
ioengine=psync
`

func TestRenderGolden(t *testing.T) {
	measure := Parameters{Purpose: Measure, Duration: 90 * time.Second, WarmUp: 1500 * time.Millisecond, Seed: 7, ClientIndex: 2}
	prepare := Parameters{Purpose: Prepare, Seed: 7, ClientIndex: 2}
	precondition := Parameters{Purpose: Precondition, Passes: 2}
	compressible := func(p *v1alpha1.FioProfile) {
		p.Compressibility = &v1alpha1.Compressibility{Percent: 60, ChunkSize: new(resource.MustParse("8Ki"))}
		p.RefillBuffers = new(true)
	}
	flushed := func(p *v1alpha1.FioProfile) {
		p.Fsync = &v1alpha1.FioFsync{EveryWrites: new(int32(8)), Data: new(true), AtEnd: new(true)}
	}
	zipf := func(p *v1alpha1.FioProfile) { p.RandomDistribution = "zipf:1.2" }
	for _, test := range []struct {
		name       string
		profile    *v1alpha1.FioProfile
		parameters Parameters
	}{
		{"random-read", profileWith(), measure},
		{"random-read-prepare", profileWith(), prepare},
		{"random-write", profileWith(withReadPercent(0)), measure},
		{"random-mixed", profileWith(withReadPercent(70)), measure},
		{"sequential-read", profileWith(sequential), measure},
		{"sequential-write", profileWith(sequential, withReadPercent(0)), measure},
		{"sequential-mixed", profileWith(sequential, withReadPercent(1)), measure},
		{"block-size", profileWith(withBlock("1Mi"), withDataset("1000Mi")), prepare},
		{"odd-block-size", profileWith(withBlock("1536"), withDataset("1536k"), withDirect(false)), prepare},
		{"jobs-depth-files", profileWith(withJobs(4), withDepth(32), withFiles(2)), measure},
		{"jobs-depth-files-prepare", profileWith(withJobs(4), withDepth(32), withFiles(2)), prepare},
		{"shared-random", profileWith(shared, withJobs(4), withFiles(2)), measure},
		{"shared-sequential", profileWith(shared, sequential, withJobs(4), withFiles(2)), measure},
		{"shared-prepare", profileWith(shared, sequential, withJobs(4), withFiles(2)), prepare},
		{"buffered", profileWith(withDirect(false)), measure},
		{"engine-psync", profileWith(withEngine(v1alpha1.FioPsync)), measure},
		{"engine-io-uring", profileWith(withEngine(v1alpha1.FioIOUring), withDepth(4), withOption("hipri", "")), measure},
		{"engine-mmap", profileWith(withEngine(v1alpha1.FioMmap)), measure},
		{"engine-mmap-prepare", profileWith(withEngine(v1alpha1.FioMmap)), prepare},
		{"engine-null", profileWith(withEngine(v1alpha1.FioNull)), measure},
		{"rate-bytes", profileWith(withRate("10M", 0), withJobs(4)), measure},
		{"rate-iops-mixed", profileWith(withRate("", 1000), withReadPercent(70)), measure},
		{"rate-both-iops-tighter", profileWith(withRate("10Mi", 100)), measure},
		{"rate-both-bytes-tighter", profileWith(withRate("1Mi", 100000)), measure},
		{"rate-remainder", profileWith(withRate("", 10), withJobs(4), withReadPercent(60)), measure},
		{"rate-remainder-shared-sequential", profileWith(withRate("", 10), withJobs(4), sequential, shared), measure},
		{"rate-prepare", profileWith(withRate("", 10), withJobs(4)), prepare},
		{"distribution", profileWith(zipf), measure},
		{"compressibility", profileWith(compressible, withReadPercent(0)), measure},
		{"compressibility-prepare", profileWith(compressible), prepare},
		{"fsync", profileWith(flushed, withReadPercent(0)), measure},
		{"options", profileWith(withOption("norandommap", ""), withOption("iodepth_batch", "4"), withOption("group_reporting", "1"),
			withOption("cpus_allowed", "0-1")), measure},
		{"sweep-cell", profileWith(withJobs(4)), Parameters{Purpose: Measure, Duration: time.Second,
			Overrides: engine.Overrides{Jobs: 2, QueueDepth: 9, BlockSizeBytes: 65536, ReadPercent: new(int32(0))}}},
		{"open-loop", profileWith(shared, withDepth(8), withOption("norandommap", "")), Parameters{Purpose: Measure, Duration: time.Minute,
			Overrides: engine.Overrides{Offer: engine.Offer{IOPS: 31, Latency: 2400 * time.Microsecond}}}},
		{"open-loop-mixed", profileWith(shared, withReadPercent(70)), Parameters{Purpose: Measure, Duration: time.Minute,
			Overrides: engine.Overrides{Offer: engine.Offer{IOPS: 100, Latency: time.Millisecond}}}},
		{"ramp-layout", profileWith(), Parameters{Purpose: Prepare, Overrides: engine.Overrides{LayoutJobs: 8}}},
		{"precondition", profileWith(withRate("", 10)), precondition},
		{"job-file", profileWith(withJobFile(userJobFile, "2560Ki")), measure},
		{"job-file-prepare", profileWith(withJobFile(userJobFile, "2560Ki")), prepare},
		{"job-file-precondition", profileWith(withJobFile(userJobFile, "2560Ki")), precondition},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, err := Render(test.profile, test.parameters)
			if err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/render/"+test.name+".fio", text)
			if strings.Contains(text, "/") && !strings.Contains(test.name, "distribution") {
				t.Error("there is a path separator in it")
			}
			again, err := Render(test.profile, test.parameters)
			if err != nil || again != text {
				t.Error("a second rendering differs")
			}
		})
	}
}

// TestLayoutMemory checks that a layout and a precondition keep at most 128 MiB outstanding in all jobs of all sections
// together.
func TestLayoutMemory(t *testing.T) {
	var sections strings.Builder
	for i := range 40 {
		fmt.Fprintf(&sections, "[s%d]\nrw=randwrite\nbs=1m\nioengine=libaio\niodepth=2\ndirect=1\nsize=64m\nnumjobs=2\n", i)
	}
	manyJobs := strings.ReplaceAll("[a]\nrw=write\nbs=4k\nioengine=libaio\nsize=1m\nnumjobs=1024\n[b]\nX[c]\nX[d]\nX", "X", "rw=write\nbs=4k\nioengine=libaio\nsize=1m\nnumjobs=1024\n")
	for name, profile := range map[string]*v1alpha1.FioProfile{
		"one job":          profileWith(withDataset("1Gi")),
		"large blocks":     profileWith(withDataset("4Gi"), withBlock("16Mi"), withJobs(4)),
		"split blocks":     {JobFile: "[a]\nrw=randwrite\nbssplit=4k/50:16m/50\nioengine=libaio\nsize=1g\nnumjobs=4\n", DatasetSize: resource.MustParse("4Gi")},
		"many jobs":        profileWith(withDataset("1Gi"), withJobs(1024)),
		"many sections":    {JobFile: sections.String(), DatasetSize: resource.MustParse("5Gi")},
		"as many as there": {JobFile: manyJobs, DatasetSize: resource.MustParse("4Gi")},
	} {
		for _, purpose := range []Purpose{Prepare, Precondition} {
			text, err := Render(profile, Parameters{Purpose: purpose, Passes: 1})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := outstandingBytes(t, text); got > 128<<20 {
				t.Errorf("%s, purpose %d: %d MiB are outstanding", name, purpose, got>>20)
			}
		}
	}
}

// outstandingBytes returns how many bytes all jobs of a job file keep outstanding with their largest blocks.
func outstandingBytes(t *testing.T, jobFile string) uint64 {
	t.Helper()
	var all uint64
	for _, section := range strings.Split(jobFile, "\n[")[1:] {
		jobs, depth, block := uint64(1), uint64(1), uint64(4096)
		for line := range strings.Lines(section) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			number, err := strconv.ParseUint(value, 10, 64)
			switch {
			case name == "numjobs":
				jobs = number
			case name == "iodepth":
				depth = number
			case name == "bssplit":
				block = 16 << 20 // the largest block of the only bssplit in these tests
			case name == "bs" && err == nil:
				block = number
			}
		}
		all += jobs * depth * block
	}
	return all
}

func TestRenderRefuses(t *testing.T) {
	measure := Parameters{Purpose: Measure, Duration: 10 * time.Second}
	for _, test := range []struct {
		name       string
		profile    *v1alpha1.FioProfile
		parameters Parameters
		want       string
	}{
		{"no purpose", profileWith(), Parameters{Duration: time.Second}, "is not Measure, Prepare or Precondition"},
		{"no duration", profileWith(), Parameters{Purpose: Measure}, "duration 0s"},
		{"prepare with duration", profileWith(), Parameters{Purpose: Prepare, Duration: time.Second}, "duration and warmUp must be 0"},
		{"nothing to prepare", profileWith(withEngine(v1alpha1.FioNull)), Parameters{Purpose: Prepare}, "nothing to prepare"},
		{"rate in a long warm-up", profileWith(withRate("", 100)), Parameters{Purpose: Measure, Duration: time.Second, WarmUp: time.Second}, "would end during the warm-up"},
		{"more jobs than files", profileWith(withJobs(2)), Parameters{Purpose: Measure, Duration: time.Second, Overrides: engine.Overrides{Jobs: 4}},
			"files are laid out for only 2 jobs"},
		{"sweep of a job file", profileWith(withJobFile(userJobFile, "2560Ki")), Parameters{Purpose: Measure, Duration: time.Second,
			Overrides: engine.Overrides{Jobs: 4}}, "use the typed fields"},
		{"no profile", nil, measure, "a fio profile is required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Render(test.profile, test.parameters)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestSeedsDiffer(t *testing.T) {
	seen := map[uint64]Parameters{}
	for _, purpose := range []Purpose{Measure, Prepare} {
		for client := range 100 {
			for step := range uint64(20) {
				parameters := Parameters{Purpose: purpose, Seed: step, ClientIndex: client}
				seed := parameters.seed()
				if other, twice := seen[seed]; twice || seed == 0 || seed >= 1<<62 {
					t.Fatalf("seed %d of %+v, also of %+v", seed, parameters, other)
				}
				seen[seed] = parameters
			}
		}
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name    string
		profile *v1alpha1.FioProfile
		field   string
		want    string
	}{
		{"no pattern", profileWith(func(p *v1alpha1.FioProfile) { p.Pattern = "" }), "fio.pattern", "set Sequential or Random"},
		{"pattern", profileWith(func(p *v1alpha1.FioProfile) { p.Pattern = "Zigzag" }), "fio.pattern", "Zigzag"},
		{"no mix", profileWith(func(p *v1alpha1.FioProfile) { p.ReadPercent = nil }), "fio.readPercent", "set 100 for reads"},
		{"mix", profileWith(withReadPercent(101)), "fio.readPercent", "from 0 to 100"},
		{"no block", profileWith(func(p *v1alpha1.FioProfile) { p.BlockSize = nil }), "fio.blockSize", "such as 4Ki"},
		{"block of no bytes", profileWith(withBlock("0")), "fio.blockSize", "above 0"},
		{"block of half bytes", profileWith(withBlock("1500m")), "fio.blockSize", "whole number"},
		{"unaligned block", profileWith(withBlock("1000"), withDataset("8000")), "fio.blockSize", "multiple of 512"},
		{"jobs", profileWith(withJobs(0)), "fio.jobs", "from 1 to 1024"},
		{"depth", profileWith(withDepth(5000)), "fio.queueDepth", "from 1 to 4096"},
		{"depth of psync", profileWith(withDepth(2), withEngine(v1alpha1.FioPsync)), "fio.queueDepth", "one operation at a time"},
		{"files", profileWith(withFiles(10_001)), "fio.filesPerJob", "from 1 to 10000"},
		{"many files", profileWith(withFiles(10_000), withJobs(100), withDataset("8Ti")), "fio.filesPerJob", "the limit is 100000"},
		{"sharing", profileWith(func(p *v1alpha1.FioProfile) { p.FileSharing = "Some" }), "fio.fileSharing", "Some"},
		{"engine", profileWith(withEngine("exec")), "fio.ioEngine", "exec"},
		{"external engine", profileWith(withEngine("external:/tmp/x.so")), "fio.ioEngine", "external"},
		{"direct mmap", profileWith(withEngine(v1alpha1.FioMmap), withDirect(true)), "fio.direct", "page cache"},
		{"dataset", profileWith(withDataset("0")), "fio.datasetSize", "above 0"},
		{"small dataset", profileWith(withDataset("4Ki"), withJobs(2)), "fio.datasetSize", "use at least 8192"},
		{"uneven dataset", profileWith(withDataset("8Mi"), withJobs(3)), "fio.datasetSize", "use 8380416 or 8392704"},
		{"shared parts", profileWith(withDataset("8Ki"), withJobs(3), shared, sequential), "fio.datasetSize", "needs 4096 bytes"},
		{"empty rate", profileWith(withRate("", 0)), "fio.rateLimit", "set bytesPerSecond or iops"},
		{"small rate", profileWith(withRate("", 3), withJobs(4)), "fio.rateLimit.iops", "at least 1 per second for each"},
		{"small share", profileWith(withRate("", 50), withReadPercent(1)), "fio.rateLimit.iops", "too small"},
		{"fractional rate", profileWith(withRate("500m", 0)), "fio.rateLimit.bytesPerSecond", "whole number"},
		{"distribution", profileWith(func(p *v1alpha1.FioProfile) { p.RandomDistribution = "zipf:1.2\nexec_prerun=id" }), "fio.randomDistribution", "zipf:THETA"},
		{"pareto of one", profileWith(func(p *v1alpha1.FioProfile) { p.RandomDistribution = "pareto:1" }), "fio.randomDistribution", "pareto:0.9"},
		{"pareto of zero", profileWith(func(p *v1alpha1.FioProfile) { p.RandomDistribution = "pareto:0.0" }), "fio.randomDistribution", "pareto:0.9"},
		{"wide normal", profileWith(func(p *v1alpha1.FioProfile) { p.RandomDistribution = "normal:150" }), "fio.randomDistribution", "normal:20"},
		{"zipf of one", profileWith(func(p *v1alpha1.FioProfile) { p.RandomDistribution = "zipf:1.0" }), "fio.randomDistribution", "zipf:0.9"},
		{"zones without all accesses", profileWith(distributed("zoned:50/10:40/20")), "fio.randomDistribution", "add up to 100"},
		{"zones above the size", profileWith(distributed("zoned:50/60:50/60")), "fio.randomDistribution", "at most 100"},
		{"zones of fractions", profileWith(withJobFile("[a]\nrw=randread\nsize=8m\nrandom_distribution=zoned_abs:60.5/1m:39.5/1m\n", "8Mi")), "fio.jobFile", "without decimals"},
		{"sequential distribution", profileWith(sequential, func(p *v1alpha1.FioProfile) { p.RandomDistribution = "zipf:1.2" }), "fio.randomDistribution", "applies only to"},
		{"compressibility", profileWith(func(p *v1alpha1.FioProfile) { p.Compressibility = &v1alpha1.Compressibility{Percent: 101} }), "fio.compressibility.percent", "from 0 to 100"},
		{"chunk", profileWith(func(p *v1alpha1.FioProfile) {
			p.Compressibility = &v1alpha1.Compressibility{ChunkSize: new(resource.MustParse("1"))}
		}), "fio.compressibility.chunkSize", "from 512"},
		{"fdatasync of nothing", profileWith(func(p *v1alpha1.FioProfile) { p.Fsync = &v1alpha1.FioFsync{Data: new(true)} }), "fio.fsync.everyWrites", "remove fsync.data, which has no effect without everyWrites"},
		{"typed option", profileWith(withOption("bs", "4k")), "fio.options[bs]", "set blockSize"},
		{"alias of a typed option", profileWith(withOption("readwrite", "read")), "fio.options[readwrite]", "set pattern and readPercent"},
		{"command", profileWith(withOption("exec_prerun", "id")), "fio.options[exec_prerun]", "may not run commands"},
		{"path", profileWith(withOption("filename", "x")), "fio.options[filename]", "chooses the file names"},
		{"runtime", profileWith(withOption("runtime", "5")), "fio.options[runtime]", "set its duration and warmUp"},
		{"unknown", profileWith(withOption("frobnicate", "5")), "fio.options[frobnicate]", "not on the list"},
		{"pattern of a file", profileWith(withOption("buffer_pattern", "'/etc/passwd'")), "fio.options[buffer_pattern]", "files are not allowed"},
		{"second line", profileWith(withOption("nice", "1\nexec_prerun=id")), "fio.options[nice]", "not printable ASCII"},
		{"name with a line", profileWith(withOption("nice=1\nexec_prerun", "id")), "fio.options", "not on the list"},
		{"option of another engine", profileWith(withOption("sqthread_poll", "1")), "fio.options[sqthread_poll]", "only io_uring"},
		{"offload of a queue", profileWith(withDepth(2), withOption("io_submit_mode", "offload")),
			"fio.options", "fio does not end"},
		{"zones of no size", profileWith(withOption("zonemode", "strided")), "fio.options", "set zonesize"},
		{"zones that are off", profileWith(withOption("zonesize", "64k")), "fio.options", "zonemode=strided"},
		{"job file and field", profileWith(withJobFile(userJobFile, "2560Ki"), withJobs(1)), "fio.jobs", "replaces all other fields"},
		{"job file and dataset", profileWith(withJobFile(userJobFile, "1Gi")), "fio.jobFile", "set datasetSize to 2621440"},
	} {
		t.Run(test.name, func(t *testing.T) {
			problems := Validate(field.NewPath("fio"), test.profile)
			for _, problem := range problems {
				if strings.HasPrefix(problem.Field, test.field) && strings.Contains(problem.Error(), test.want) {
					return
				}
			}
			t.Errorf("%v, want one of field %s with %q", problems, test.field, test.want)
		})
	}
	for _, profile := range []*v1alpha1.FioProfile{
		profileWith(), profileWith(distributed("zoned:60/10:40/90")), profileWith(distributed("zoned:60/0:40/20")),
		profileWith(withOption("io_submit_mode", "offload")),
		profileWith(withOption("io_submit_mode", "inline"), withDepth(2)),
		profileWith(withOption("zonemode", "strided"), withOption("zonesize", "64k")),
		profileWith(withOption("zonesize", "0")),
	} {
		if problems := Validate(nil, profile); len(problems) > 0 {
			t.Errorf("a good profile: %v", problems)
		}
	}
}

func TestDescribe(t *testing.T) {
	traits, err := Describe(profileWith(withJobFile(userJobFile, "2560Ki")), Parameters{})
	if err != nil {
		t.Fatal(err)
	}
	if !traits.Reads || !traits.Writes || traits.Trims || traits.Dirty || !traits.Buffered || traits.NoStorage ||
		traits.SyncsAtEnd || !traits.Random || !traits.Mixed {
		t.Errorf("%+v", traits)
	}
	if traits.Jobs != 3 || traits.MaxOutstanding != 17 || traits.ClientBytes != 2560<<10 || traits.BlockBytes != 0 {
		t.Errorf("%+v", traits)
	}
	if files := maps.Collect(traits.Files); files["data.1.0.3"] != 128<<10 || len(files) != 6 {
		t.Errorf("files %v", files)
	}
	traits, err = Describe(profileWith(withEngine(v1alpha1.FioNull), withJobs(2), withDepth(4)), Parameters{})
	if err != nil {
		t.Fatal(err)
	}
	if !traits.NoStorage || traits.Buffered || len(maps.Collect(traits.Files)) != 0 || traits.MaxOutstanding != 8 || traits.BlockBytes != 4096 {
		t.Errorf("%+v", traits)
	}
}

// TestDescribeOfOrder checks that a job file and the equivalent typed fields are described alike.
func TestDescribeOfOrder(t *testing.T) {
	for name, test := range map[string]struct {
		profile *v1alpha1.FioProfile
		random  bool
	}{
		"random":              {profileWith(), true},
		"random job file":     {profileWith(withJobFile("[a]\nrw=randread\nsize=8m\n", "8Mi")), true},
		"sequential":          {profileWith(sequential), false},
		"sequential job file": {profileWith(withJobFile("[a]\nrw=rw\nsize=8m\n", "8Mi")), false},
	} {
		made, err := Engine{test.profile}.Describe(&engine.Step{})
		if err != nil || made.Random != test.random || made.Mixed {
			t.Errorf("%s: random %t, mixed %t, %v", name, made.Random, made.Mixed, err)
		}
	}
}

// TestDescribeOfDirtyPages checks which loads leave dirty pages. Synchronous writes count as flushed, except with mmap,
// which writes to memory. Each section of a job file is judged on its own.
func TestDescribeOfDirtyPages(t *testing.T) {
	buffered := func(edits ...edit) *v1alpha1.FioProfile {
		return profileWith(append([]edit{withReadPercent(0), withDirect(false), withEngine(v1alpha1.FioPsync)}, edits...)...)
	}
	const flushedAtEnd = "rw=write\nend_fsync=1\n"
	sections := func(first, second string) *v1alpha1.FioProfile {
		return profileWith(withJobFile("[a]\nsize=4m\n"+first+"[b]\nsize=4m\n"+second, "8Mi"))
	}
	for name, test := range map[string]struct {
		profile              *v1alpha1.FioProfile
		dirty, atEnd, cached bool
	}{
		"not at all":           {profile: buffered(), dirty: true},
		"dsync":                {profile: buffered(withOption("sync", "dsync"))},
		"sync=1":               {profile: buffered(withOption("sync", "1"))},
		"sync=0":               {profile: buffered(withOption("sync", "0")), dirty: true},
		"none":                 {profile: buffered(withOption("sync", "none")), dirty: true},
		"reads":                {profile: buffered(withOption("sync", "sync"), withReadPercent(100)), cached: true},
		"mmap":                 {profile: buffered(withOption("sync", "sync"), withEngine(v1alpha1.FioMmap)), dirty: true},
		"in job file":          {profile: profileWith(withJobFile("[a]\nrw=write\nsync=sync\nsize=8m\n", "8Mi"))},
		"beside a log":         {profile: sections("rw=write\nfsync=1\n", "rw=write\n"), dirty: true},
		"beside a direct log":  {profile: sections("rw=write\ndirect=1\n", flushedAtEnd), dirty: true, atEnd: true},
		"one flushed at end":   {profile: sections("rw=write\n", flushedAtEnd), dirty: true},
		"beside direct writes": {profile: sections("rw=read\n", "rw=write\ndirect=1\n"), cached: true},
		"beside direct reads":  {profile: sections("rw=read\ndirect=1\n", "rw=write\nfsync=1\n")},
	} {
		made, err := Describe(test.profile, Parameters{})
		cached := made.Cached.Why != ""
		if err != nil || made.Dirty != test.dirty || made.SyncsAtEnd != test.atEnd || cached != test.cached {
			t.Errorf("%s: dirty %t, at the end %t, cached %t, %v", name, made.Dirty, made.SyncsAtEnd, cached, err)
		}
	}
	small, err := Engine{smallFiles(withOption("sync", "dsync"))}.Describe(fileStep(v1alpha1.OperationWrite))
	if err != nil || !small.SyncsAtEnd {
		t.Errorf("small files: syncs at end %t, %v", small.SyncsAtEnd, err)
	}
}

// TestDescribeOfRates checks the rate limit of a job file: the sum over all jobs if every operation has a limit,
// otherwise none.
func TestDescribeOfRates(t *testing.T) {
	for name, test := range map[string]struct {
		first, second     string
		bytes, operations float64
	}{
		"none":              {first: "rw=read\n", second: "rw=write\n"},
		"one section":       {first: "rw=read\nrate=1m\n", second: "rw=write\n"},
		"all sections":      {first: "rw=read\nrate=1m\n", second: "rw=write\nrate=2m\n", bytes: 2 * 3 << 20},
		"one for each kind": {first: "rw=rw\nrate=1m,2m\n", second: "rw=write\nrate=1m,2m\n", bytes: 2 * 5 << 20},
		"one for all kinds": {first: "rw=rw\nrate=1m\n", second: "rw=read\nrate=1m\n", bytes: 2 * 3 << 20},
		"only reads":        {first: "rw=rw\nrate_iops=100,\n", second: "rw=read\nrate=1m\n"},
		"operations": {first: "rw=read\nrate_iops=100\n", second: "rw=write\nbs=8k\nrate_iops=50\n",
			bytes: 2 * (100*4096 + 50*8192), operations: 2 * 150},
		"operations of varying size": {first: "rw=read\nbsrange=4k-64k\nrate_iops=100\n",
			second: "rw=read\nrate_iops=100\n", operations: 2 * 200},
		"bytes and operations": {first: "rw=read\nrate=1m\n", second: "rw=write\nrate_iops=50\n",
			bytes: 2 * (1<<20 + 50*4096)},
		"beside no storage": {first: "rw=read\nrate=1m\n", second: "rw=read\nioengine=null\n", bytes: 2 << 20},
	} {
		text := "[global]\nnumjobs=2\nsize=2m\n[a]\n" + test.first + "[b]\n" + test.second
		load := Engine{profileWith(withJobFile(text, "8Mi"))}
		made, err := load.Describe(&engine.Step{})
		if err != nil || made.LimitBytesPerSecond != test.bytes || made.LimitIOPS != test.operations {
			t.Errorf("%s: %g B/s, %g IOPS, %v", name, made.LimitBytesPerSecond, made.LimitIOPS, err)
		}
		layout, err := load.Describe(&engine.Step{Purpose: v1alpha1.StepPrepare})
		if err != nil || layout.LimitBytesPerSecond != 0 || layout.LimitIOPS != 0 {
			t.Errorf("%s: the layout is limited: %+v, %v", name, layout, err)
		}
	}
}

// TestDescribeOfSplitSections checks that the files are the same whether the jobs are rendered as one section or as
// several.
func TestDescribeOfSplitSections(t *testing.T) {
	whole, err := Describe(profileWith(withJobs(4), withFiles(2)), Parameters{})
	if err != nil {
		t.Fatal(err)
	}
	split, err := Describe(profileWith(withJobs(4), withFiles(2), withRate("", 10)), Parameters{})
	if err != nil {
		t.Fatal(err)
	}
	splitFiles := maps.Collect(split.Files)
	if len(splitFiles) != 8 || split.ClientBytes != whole.ClientBytes || split.Jobs != 4 || split.MaxOutstanding != 4 {
		t.Errorf("%+v, want as %+v", split, whole)
	}
	together, err := Describe(profileWith(withJobs(4), withFiles(2), shared), Parameters{})
	if err != nil {
		t.Fatal(err)
	}
	if len(maps.Collect(together.Files)) != 2 || together.ClientBytes != whole.ClientBytes || together.Jobs != 4 {
		t.Errorf("shared: %+v", together)
	}
	for name, bytes := range whole.Files {
		if splitFiles[name] != bytes {
			t.Errorf("%s: %d bytes, want %d", name, splitFiles[name], bytes)
		}
	}
}
