package convert_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/convert"
	"github.com/storagebench/storagebench/test/golden"
)

func TestDiskSpd(t *testing.T) {
	for name, line := range map[string]string{
		// Command lines from well-known posts.
		"aws-write":   `.\diskspd.exe -d720 -r100 -w100 -t1 -o32 -b1M -Sr -L -c8G \\fs.example\share\test.dat`,
		"aws-read":    `diskspd.exe -d120 -s -w0 -t8 -o16 -b1024K -Sh -L D:\data\test.dat`,
		"azure":       `diskspd -c100G -b8K -t18 -o8 -r -w100 -d120 -W30 -C30 -Sh -L -D test.dat`,
		"defaults":    `diskspd -c1G x.dat`,
		"cached":      `diskspd -c1G -b4K -t4 -o8 -r -w30 x.dat`,
		"parts":       `diskspd -c1G -b64K -t4 -T256M -Su x.dat`,
		"interlocked": `diskspd -c1G -b64K -t4 -o4 -si -Su x.dat`,
		"targets":     `diskspd -c1G -b4K -t2 -o8 -r -Su a.dat b.dat`,
		"one-thread":  `diskspd -c1G -b4K -o8 -r -Su a.dat b.dat`,
		"total":       `diskspd -c1G -b4K -F6 -O20 -r -Su a.dat b.dat`,
		"mixed":       `diskspd -c1G -b4K -rs30 -r64K -w50 -Suw -Zr a.dat`,
		"percent":     `diskspd -c1G -b4K -r -rdpct90/10:0/10:5/20 -Su a.dat`,
		"absolute":    `diskspd -c100G -b4K -r -rdabs90/10G:0/10G:5/20G -Su a.dat`,
		"pace":        `diskspd -c1G -b4K -t2 -o1 -r -Su -g8192 a.dat`,
		"pace-iops":   `diskspd -c1G -b4K -t2 -o1 -r -Su -g500i -w100 -Z a.dat`,
		"bursts":      `diskspd -c1G -b4K -t2 -o1 -r -Su -i100 -j20 a.dat`,
		"stride":      `diskspd -c1G -b4K -o1 -s64K -Su a.dat`,
		"overlap":     `diskspd -c1G -b64K -o1 -s4K -Su a.dat`,
		"bounds":      `diskspd -c10G -b64K -B2G:1G -r -Su a.dat`,
		"mapped":      `diskspd -c1G -b64K -t2 -o4 -r -Smw -Nv -w100 a.dat`,
		"everything-else": `diskspd -c1G -b64K -o4 -Su -w10 -a0,1,g0,2 -I1 -l -x -P -v -Rxml -z7 -D500 -p -ysStart -eDISK_IO -ft -Z1M,src.bin ` +
			`-:1 -n0 a.dat`,
		"machine":     `diskspd -c1G -b64K -o4 -Su -w10 -ag0,0,1,g1,0 -I2 -l -x -P1000 -vs -Rptext -z -p -ysStart -eDISK_IO -frst -Z1M,src.bin -C5 -:1 a.dat`,
		"old-h":       `diskspd -c1G -b4K -h -w100 -r -o4 a.dat`,
		"no-size":     `diskspd -b4K -r a.dat`,
		"no-target":   `diskspd -c1G -b4K`,
		"bad":         `diskspd -b4K -t0 -o -q -w -r0 -S1 -s4K -r x -d1 /c1G`,
		"conflicts":   `diskspd -c1G -n -a1 -F2 -t3 -g1 -x -i4 -si -T4K -Nv -f1K -B4K -Z1K -rdpct50/100 a.dat`,
		"tail":        `diskspd -c1000000 -b4K -r -Su a.dat`,
		"unaligned":   `diskspd -c1G -b4000 -r -Su a.dat`,
		"unaligned-c": `diskspd -c1G -b4K -r100 -Sb -o1 a.dat`,
	} {
		t.Run(name, func(t *testing.T) {
			workloads, err := convert.DiskSpd(strings.Fields(line), convert.Options{DatasetBytes: datasetOf(name)})
			golden.Check(t, "diskspd-"+name, "# "+line+"\n"+outcome(t, workloads, err))
		})
	}
}

// datasetOf returns the file size for the read test of the AWS post, which reads an existing file, or 0.
func datasetOf(name string) int64 {
	if name == "aws-read" {
		return 2 << 30
	}
	return 0
}

// TestDiskSpdProfile checks that XML profiles are refused with an explanation.
func TestDiskSpdProfile(t *testing.T) {
	if _, err := convert.DiskSpd([]string{"-Xp.xml", "a.dat"}, convert.Options{}); err == nil || !strings.Contains(err.Error(), "-Xp.xml: XML profiles are not supported") {
		t.Errorf("got %v", err)
	}
}

// TestBurstOfInterlockedThreads checks that bursts are not divided by the number of threads if interlocked threads
// (-si) become a single job.
func TestBurstOfInterlockedThreads(t *testing.T) {
	for line, want := range map[string]string{
		"-c1G -t4 -si -i8 -j5 -Su x.dat":       "8",
		"-c1G -t4 -si -i8 -j5 -Su x.dat y.dat": "8",
		"-c1G -F4 -si -i8 -j5 -Su x.dat":       "8",
		"-c1G -t4 -i8 -j5 -Su x.dat":           "2",
		"-c1G -t1 -i8 -j5 -Su x.dat":           "8",
	} {
		made, err := convert.DiskSpd(strings.Fields(line), convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(made[0].Spec.Fio.Options["thinktime_blocks"]); got != want {
			t.Errorf("%s: bursts of %s, want %s", line, got, want)
		}
	}
}

// TestEveryOptionOfDiskSpd checks that no option is dropped silently: each changes the profile or its duration, or has
// a note.
func TestEveryOptionOfDiskSpd(t *testing.T) {
	letters := map[byte]bool{}
	for _, options := range []string{
		"-:1", "-a", "-a0", "-ag0,1", "-b8K", "-B64K", "-c2G", "-C5", "-D", "-d7", "-eNETWORK", "-f1M", "-fr", "-F3", "-g100", "-g100i", "-h", "-i4 -j5", "-I1", "-l", "-L",
		"-n", "-Sm -w9 -Nv", "-o7", "-F2 -O9", "-p", "-P5", "-r", "-r100", "-rs40", "-r -rdpct90/10", "-Rxml", "-s128K", "-si -t2", "-Sb", "-Sr", "-Sh", "-Su", "-S", "-t3", "-T1M -t2",
		"-v", "-w30", "-W9", "-x", "-ysX", "-z", "-z5", "-Z -w9", "-Zr -w9", "-Z1M -w9",
	} {
		line := append(strings.Fields(options), "a.dat")
		if !strings.Contains(options, "-c") {
			line = append([]string{"-c1G"}, line...)
		}
		workloads, err := convert.DiskSpd(line, convert.Options{})
		if err != nil {
			t.Errorf("%s: %v", options, err)
			continue
		}
		for option := range strings.FieldsSeq(options) {
			letters[option[1]] = true
			without := slices.DeleteFunc(slices.Clone(line), func(one string) bool { return one == option })
			base, err := convert.DiskSpd(without, convert.Options{DatasetBytes: 1 << 30})
			told := slices.ContainsFunc(workloads[0].Notes, func(note convert.Note) bool { return slices.Contains(strings.Fields(note.Option), option) })
			changed := err != nil || !reflect.DeepEqual(base[0].Spec, workloads[0].Spec) || base[0].Duration != workloads[0].Duration
			if !told && !changed {
				t.Errorf("%s of %q neither changes the profile nor has a note:\n%v", option, options, workloads[0].Notes)
			}
		}
	}
	const known = ":abBcCDdefFghiIjlLnNoOpPrRsStTvwWxyzZ" // other tests cover X and ?
	for _, letter := range []byte(known) {
		if !letters[letter] {
			t.Errorf("-%c is not tried", letter)
		}
	}
}
