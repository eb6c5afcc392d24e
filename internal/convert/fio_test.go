package convert_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/convert"
	"github.com/storagebench/storagebench/test/golden"
)

func TestFio(t *testing.T) {
	for name, line := range map[string]string{
		"random":      `fio --name=randwrite --ioengine=libaio --iodepth=16 --rw=randwrite --bs=4k --direct=1 --size=1G --numjobs=4 --runtime=60 --time_based --group_reporting`,
		"shared":      `fio --filename=/data/f --direct=1 --rw=randrw --bs 8k --rwmixread 70 --ioengine libaio --iodepth=32 --numjobs=8 --size=10g --time_based --runtime=5m --ramp_time=30s --name=oltp --norandommap`,
		"parts":       `fio --name=seq --filename=/data/f --rw=write --bs=1m --direct=1 --ioengine=libaio --iodepth=4 --numjobs=4 --size=1g --offset_increment=1g --end_fsync=1`,
		"same-start":  `fio --name=seq --filename=/data/f --rw=read --bs=1m --direct=1 --numjobs=4 --size=1g --iodepth=8`,
		"defaults":    `fio --name=x --size=64m`,
		"rate":        `fio --name=x --size=64m --rw=write --rate=10m --numjobs=2 --fsync=8 --time_based --runtime=10`,
		"rate-mixed":  `fio --name=x --size=64m --rw=randrw --rate=10m,5m --ioengine=libaio --direct=1 --bs=4k`,
		"split":       `fio --name=x --size=64m --rw=randread --bssplit=4k/60:64k/40 --direct=1 --filename=f --numjobs=2`,
		"iec":         `fio --name=x --size=64MiB --bs=4KiB --rw=randread`,
		"groups":      `fio --name=global --size=64m --bs=4k --direct=1 --name=write --rw=write --name=read --stonewall --rw=randread --name=more --rw=randwrite`,
		"devices":     `fio --name=raw --filename=/dev/nvme1n1:/dev/nvme2n1 --rw=randread --bs=4k --size=1g --direct=1 --ioengine=libaio`,
		"folders":     `fio --name=x --filename=/a/f:/a/g:/b/f:/b/g --rw=randread --bs=4k --size=1g --direct=1`,
		"device":      `fio --name=raw --filename=/dev/nvme1n1 --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=64`,
		"refused":     `fio --name=x --size=1g --rw=read --exec_prerun=reboot --verify=md5 --write_bw_log=x --output-format=json --loops=3 --log_avg_msec=500 --nosuch=1 --percentile_list=99`,
		"compress":    `fio --name=x --size=1g --rw=write --bs=1m --direct=1 --buffer_compress_percentage=75 --refill_buffers --random_distribution=zipf:1.2`,
		"engine":      `fio --name=x --size=1g --rw=read --ioengine=rados`,
		"no-job":      `fio --output=x`,
		"bad-size":    `fio --name=x --size=50% --rw=read --bs=$pagesize`,
		"unaligned":   `fio --name=x --size=1m --rw=read --bs=1000 --direct=1`,
		"client":      `fio --client=host job.fio`,
		"dedupe-stop": `fio --name=x --size=10m --rw=write --bs=1m --dedupe_percentage=30 --thread --filename=a:b`,
	} {
		t.Run(name, func(t *testing.T) {
			options := convert.Options{}
			if name == "device" {
				options.DatasetBytes = 100 << 30
			}
			workloads, err := convert.Fio(strings.Fields(line), options)
			golden.Check(t, "fio-"+name, "# "+line+"\n"+outcome(t, workloads, err))
		})
	}
	const file = `; a job file
[global]
ioengine=libaio
direct=1
runtime=30
time_based
directory=/mnt/x

[global]
size=128m   # each
[random readers]
rw=randread
bs=4k
iodepth=8
numjobs=2
[log writer]
rw=write
bs=64k
fdatasync=1
`
	workloads, err := convert.FioJobFile([]byte(file), convert.Options{})
	golden.Check(t, "fio-file", outcome(t, workloads, err))
	same, err := convert.Fio([]string{"fio", "a.fio", "--section=log writer"}, convert.Options{
		Name: "log", ReadFile: func(string) ([]byte, error) { return []byte(file), nil },
	})
	golden.Check(t, "fio-section", outcome(t, same, err))
	_, err = convert.FioJobFile([]byte("rw=read\n[a\ninclude x\n[b]\nsize=${SIZE}\n"), convert.Options{})
	golden.Check(t, "fio-bad-file", outcome(t, nil, err))
}

// TestFioOptionsBeforeTheFirstName checks that options before the first --name apply to all jobs of the command line
// and of its job file.
func TestFioOptionsBeforeTheFirstName(t *testing.T) {
	const shared = "fio --ioengine=libaio --direct=1 --bs=64k --iodepth=16"
	read := func(name string) ([]byte, error) {
		text := "[global]\nsize=1g\n[b]\nrw=write\nstonewall\n"
		if name == "ab.fio" {
			text = "[a]\nrw=read\nsize=1g\n" + text
		}
		return []byte(text), nil
	}
	for _, line := range []string{
		shared + " --name=a --rw=read --size=1g --name=b --rw=write --size=1g --stonewall",
		shared + " --size=1g --name=a --rw=read --name=b --rw=write --stonewall",
		shared + " ab.fio",
		shared + " b.fio --name=a --rw=read --size=1g",
	} {
		workloads, err := convert.Fio(strings.Fields(line), convert.Options{ReadFile: read})
		if err != nil || len(workloads) != 2 {
			t.Fatalf("%s: %d workloads: %v", line, len(workloads), err)
		}
		for i, w := range workloads {
			got := w.Spec.Fio
			if w.Name != []string{"a", "b"}[i] || got.BlockSize.String() != "64Ki" ||
				got.IOEngine != v1alpha1.FioLibaio || !*got.Direct || *got.QueueDepth != 16 {
				t.Errorf("%s: %s is %+v", line, w.Name, got)
			}
		}
	}
	_, err := convert.Fio(strings.Fields(shared), convert.Options{})
	if err == nil || !strings.Contains(err.Error(), "no job given") {
		t.Errorf("%s: %v", shared, err)
	}
}

// TestFioSections checks that several --section options convert several sections, as in fio.
func TestFioSections(t *testing.T) {
	const line = "fio --section=a --section=c x.fio"
	workloads, err := convert.Fio(strings.Fields(line), convert.Options{ReadFile: func(string) ([]byte, error) {
		return []byte("[global]\nsize=1g\nstonewall\n[a]\n[b]\n[c]\n"), nil
	}})
	if err != nil || len(workloads) != 2 || workloads[0].Name != "a" || workloads[1].Name != "c" {
		t.Errorf("%+v: %v", workloads, err)
	}
}

// TestFioFileSize checks that filesize sets the size of the files. As in fio, size then limits only the bytes to
// transfer.
func TestFioFileSize(t *testing.T) {
	for line, want := range map[string]string{
		"--size=10g --filesize=1g":              "1Gi",
		"--nrfiles=10 --size=10g --filesize=1g": "10Gi",
		"--nrfiles=10 --filesize=1g":            "10Gi",
	} {
		workloads, err := convert.Fio(strings.Fields("fio --name=x --time_based --runtime=10 "+line), convert.Options{})
		if err != nil || len(workloads) != 1 {
			t.Fatalf("%s: %v", line, err)
		}
		if got := workloads[0].Spec.Fio.DatasetSize.String(); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
		noted := slices.ContainsFunc(workloads[0].Notes, func(n convert.Note) bool { return strings.HasPrefix(n.Option, "size=") })
		if noted != (want == "1Gi") {
			t.Errorf("%s: %+v", line, workloads[0].Notes)
		}
	}
}

// TestFioBaseOfUnits checks that kb_base=1000 is refused, because it changes the meaning of all sizes.
func TestFioBaseOfUnits(t *testing.T) {
	const line = "fio --name=x --size=4m --kb_base="
	_, err := convert.Fio(strings.Fields(line+"1000"), convert.Options{})
	if err == nil || !strings.Contains(err.Error(), "kb_base=1000: changes the meaning of all units: remove it") {
		t.Errorf("%s1000: %v", line, err)
	}
	workloads, err := convert.Fio(strings.Fields(line+"1024"), convert.Options{})
	if err != nil || workloads[0].Spec.Fio.DatasetSize.String() != "4Mi" {
		t.Errorf("%s1024: %+v: %v", line, workloads, err)
	}
}

// TestFioGlobalNames checks that each --name that starts with "global" sets options for the jobs after it, as in fio.
func TestFioGlobalNames(t *testing.T) {
	const line = "fio --name=global-a --size=1g --bs=64k --name=a --name=globals --bs=8k --name=b --stonewall"
	workloads, err := convert.Fio(strings.Fields(line), convert.Options{})
	if err != nil || len(workloads) != 2 {
		t.Fatalf("%+v: %v", workloads, err)
	}
	for i, want := range []string{"a 64Ki", "b 8Ki"} {
		if got := workloads[i].Name + " " + workloads[i].Spec.Fio.BlockSize.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestFioSeveralFiles checks that the jobs of each job file wait for those of the files before it, as in fio.
func TestFioSeveralFiles(t *testing.T) {
	read := func(name string) ([]byte, error) {
		return []byte("[" + name + "1]\nsize=1g\n[" + name + "2]\nsize=1g\n"), nil
	}
	for line, want := range map[string]string{
		"fio a":                             "a1",
		"fio a b":                           "a1 b1",
		"fio a b --name=x --size=1g":        "x b1",
		"fio a b --section=b1 --section=b2": "b1",
	} {
		workloads, err := convert.Fio(strings.Fields(line), convert.Options{ReadFile: read})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var names []string
		for _, w := range workloads {
			names = append(names, w.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestFioMeaning checks that random job files and the jobs rendered from their profiles have the same effect.
func TestFioMeaning(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	typed, files := 0, 0
	for range 1000 {
		var text strings.Builder
		want := effect{Options: map[string]string{}, Block: "4096", Engine: "psync", Direct: "0", RW: "read"}
		text.WriteString("[work]\n")
		set := func(name, value string) { fmt.Fprintf(&text, "%s=%s\n", name, value) }
		jobs, files0, depth, fileBlocks := uint64(1+r.IntN(4)), uint64(1+r.IntN(3)), uint64(1), uint64(8*(1+r.IntN(8)))
		block := pick[uint64](r, 512, 4096, 65536)
		want.Block = strconv.FormatUint(block, 10)
		set("bs", pick(r, want.Block, sizeOf(block)))
		set("size", strconv.FormatUint(block*fileBlocks*files0, 10))
		if engine := pick(r, "", "libaio", "psync", "sync", "posixaio", "pvsync2"); engine != "" {
			want.Engine = engine
			set("ioengine", engine)
			if strings.HasSuffix(engine, "aio") {
				depth = uint64(1 + r.IntN(8))
				set("iodepth", strconv.FormatUint(depth, 10))
			}
		}
		if r.IntN(2) == 0 {
			want.Direct = "1"
			set(pick(r, "direct", "buffered"), "1")
			if strings.Contains(text.String(), "buffered") {
				want.Direct = "0"
			}
		}
		want.RW = pick(r, "read", "write", "randread", "randwrite", "randrw", "rw")
		set(pick(r, "rw", "readwrite"), want.RW)
		if strings.HasSuffix(want.RW, "rw") {
			mix := 1 + r.IntN(99)
			want.Mix = strconv.Itoa(mix)
			switch r.IntN(3) {
			case 0:
				set("rwmixread", want.Mix)
			case 1:
				set("rwmixwrite", strconv.Itoa(100-mix))
			default:
				want.Mix = "50"
			}
		}
		set("numjobs", strconv.FormatUint(jobs, 10))
		set("nrfiles", strconv.FormatUint(files0, 10))
		switch r.IntN(4) {
		case 0:
			set("rate_iops", "1000")
			want.RateIOPS = 1000 * jobs
			if strings.HasSuffix(want.RW, "rw") {
				want.RateIOPS = 1000 * jobs // a single number limits both reads and writes
			}
		case 1:
			set("thinktime", "500us")
			want.Options["thinktime"] = "500us"
		case 2:
			set("invalidate", "0")
			want.Options["invalidate"] = "0"
		}
		want.Jobs, want.Outstanding = jobs, jobs*depth
		want.Files, want.DatasetBytes = int(jobs*files0), jobs*files0*block*fileBlocks
		workloads, err := convert.FioJobFile([]byte(text.String()), convert.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, &text)
		}
		profile := workloads[0].Spec.Fio
		// The same options on a command line give the same profile.
		words := []string{"fio", "--name=work"}
		for line := range strings.Lines(text.String()) {
			if line = strings.TrimSpace(line); line != "[work]" {
				words = append(words, pick(r, []string{"--" + line}, strings.SplitN("--"+line, "=", 2))...)
			}
		}
		if same, err := convert.Fio(words, convert.Options{}); err != nil || len(same) != 1 {
			t.Fatalf("%v: %v", words, err)
		} else if diff := cmp.Diff(profile, same[0].Spec.Fio); diff != "" {
			t.Fatalf("%v (-job file +command line):\n%s", words, diff)
		}
		if typed++; profile.JobFile != "" {
			typed, files = typed-1, files+1
		}
		got := effectOf(t, rendered(t, profile), "thinktime", "invalidate")
		if got.Mix == "" && want.Mix == "50" {
			got.Mix = "50" // fio's default
		}
		for _, one := range rendered(t, profile) {
			if writes, ok := one["rwmixwrite"]; ok {
				number, _ := strconv.Atoi(writes)
				got.Mix = strconv.Itoa(100 - number)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", &text, diff)
		}
	}
	if typed < 200 || files < 50 {
		t.Errorf("%d typed and %d job files: both ways have to be drawn", typed, files)
	}
}

func FuzzFio(f *testing.F) {
	f.Add("--name=a --size=1g --bs=4KiB --rw=randrw --rate=1m,2m --filename=a:b --numjobs=3 --stonewall --name=b", int64(1<<30))
	f.Add("--name=global --direct=1 --name=x --offset_increment=1m --size=1m --numjobs=9 --filename=x --rw=write", int64(0))
	f.Add("[a]\nsize=1g\nfilesize=4k\nnrfiles=3\nbssplit=4k/50:8k/50\n[global]\nrw=read\n[global b]\n", int64(0))
	f.Fuzz(func(t *testing.T, text string, dataset int64) {
		options := convert.Options{DatasetBytes: dataset}
		workloads, err := convert.Fio(strings.Split(text, " "), options)
		checkConverted(t, workloads, err)
		workloads, err = convert.FioJobFile([]byte(text), options)
		checkConverted(t, workloads, err)
	})
}
