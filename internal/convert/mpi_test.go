package convert_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/internal/convert"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/test/golden"
)

func TestIOR(t *testing.T) {
	for name, line := range map[string]string{
		"aws-lustre": `mpirun --npernode 16 -np 144 --hostfile hosts ior -w -r -a POSIX -t 1m -b 12000m -s 1 -i 1000 -T 720 -F -k -C -e -g -v -o /fsx/ior.dat`,
		"defaults":   `ior`,
		"attached":   `ior -wk -t1m -b=16m -F -D60 -O stoneWallingWearOut=1,summaryFormat=JSON -z -z`,
		"directives": `/opt/bin/IOR -O api=MPIIO,transferSize=4m,blockSize=16m,writeFile=1,readFile=0,collective=1,interIODelay=5 -j 5 -l random --posix.odirect=0`,
		"direct":     `srun -n 8 ior -r --posix.odirect -t 4k -b 4m -Z -Y -d 2 -N 8 -M 50% -W`,
		"mpiio":      `ior -a MPIIO -p -w -V -t 1m -b 1g -l random -J 4k -qnI`,
		"not-mpiio":  `ior -S -O useFileView=1,preallocate=0 -w -l random`,
		"paths":      `ior -w -o /a/f@/b/f@/c/f -F -l random`,
		"first-path": `ior -w -o /a/f@/b/f -l random`,
		"refused":    `ior -w -t 3k -b 4k -a HDF5`,
		"bad":        `ior -w -t fast -q9 x -s -i 0.5`,
	} {
		t.Run(name, func(t *testing.T) {
			workloads, err := convert.IOR(strings.Fields(line), convert.Options{})
			golden.Check(t, "ior-"+name, "# "+line+"\n"+outcome(t, workloads, err))
		})
	}
}

// TestMPIWithoutTheProgram checks that the name of the program may be omitted, even if a path on the command line ends
// with that name.
func TestMPIWithoutTheProgram(t *testing.T) {
	for tool, test := range map[string]struct {
		convert func([]string, convert.Options) ([]convert.Workload, error)
		line    string
	}{
		"ior":    {convert.IOR, "-w -t 1m -b 16m -F -o /fsx/ior"},
		"mdtest": {convert.Mdtest, "-n 1000 -d /data/mdtest"},
	} {
		want, err := test.convert(strings.Fields(tool+" "+test.line), convert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := test.convert(strings.Fields(test.line), convert.Options{})
		if err != nil {
			t.Fatalf("%s: %v", test.line, err)
		}
		if diff := cmp.Diff(yamlOf(t, want), yamlOf(t, got)); diff != "" {
			t.Errorf("%s without the program (-with +without):\n%s", tool, diff)
		}
	}
}

func TestMdtest(t *testing.T) {
	for name, line := range map[string]string{
		"io500-easy": `mpirun -np 16 mdtest -n 100000 -u -L -F -d /data/mdt -i 3 -P -G 7`,
		"io500-hard": `mdtest -n 1000 -t -w 3901 -e 3901 -N 1 -F -d /x -W 300`,
		"tree":       `mdtest -I 10 -z 3 -b 4 -u -R`,
		"leaf":       `mdtest -I 10 -z 3 -b 4 -L -w 4k`,
		"refused":    `mdtest -n 10 -C -T -x status -a HDFS`,
		"paths":      `mdtest -n 10 -d /a@/b`,
		"nothing":    `mdtest -F`,
	} {
		t.Run(name, func(t *testing.T) {
			workloads, err := convert.Mdtest(strings.Fields(line), convert.Options{})
			golden.Check(t, "mdtest-"+name, "# "+line+"\n"+outcome(t, workloads, err))
		})
	}
}

// TestIORMeaning checks that the options of random IOR command lines are rendered unchanged.
func TestIORMeaning(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		transfer := 8 << r.IntN(10)
		transfers := 2 + r.IntN(8)
		want := []string{"-t " + strconv.Itoa(transfer), "-b " + strconv.Itoa(transfer*transfers)}
		both := r.IntN(3)
		for _, letter := range []string{"-F", "-e", "-g", "-k", "-E"} {
			if r.IntN(2) == 0 {
				want = append(want, letter)
			}
		}
		if both != 1 {
			want = append(want, "-w")
		} else {
			want = slices.DeleteFunc(want, func(o string) bool { return o == "-E" || o == "-e" })
		}
		if both != 0 {
			want = append(want, "-r", "-k")
			if r.IntN(2) == 0 {
				want = append(want, pick(r, "-C", "-Z"))
			}
		}
		want = append(want, "-s "+strconv.Itoa(1+r.IntN(9)), "-i "+strconv.Itoa(1+r.IntN(9)), "-a "+pick(r, "POSIX", "MPIIO"), "-l "+pick(r, "t", "o", "r"))
		if r.IntN(3) == 0 {
			want = append(want, "-d "+strconv.Itoa(1+r.IntN(9)))
		}
		if r.IntN(3) == 0 {
			want = append(want, "-D "+strconv.Itoa(1+r.IntN(9)))
		}
		slices.Sort(want)
		want = slices.Compact(want)
		r.Shuffle(len(want), func(i, j int) { want[i], want[j] = want[j], want[i] })
		workloads, err := convert.IOR(strings.Fields(strings.Join(want, " ")), convert.Options{})
		if err != nil {
			t.Fatalf("%s: %v", strings.Join(want, " "), err)
		}
		again, err := ior.Arguments(workloads[0].Spec.IOR, ior.Parameters{Purpose: ior.Measure})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := 0; i < len(again); i++ {
			option := again[i]
			if i+1 < len(again) && again[i+1][0] != '-' {
				value := again[i+1]
				for suffix, factor := range map[string]int{"k": 1 << 10, "m": 1 << 20} {
					if number, found := strings.CutSuffix(value, suffix); found && (option == "-t" || option == "-b") {
						bytes, err := strconv.Atoi(number)
						if err != nil {
							t.Fatal(err)
						}
						value = strconv.Itoa(bytes * factor)
					}
				}
				option += " " + value
				i++
			}
			if !strings.HasPrefix(option, "-o ") && !strings.HasPrefix(option, "-O ") {
				got = append(got, option)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// TestMdtestMeaning checks that the options of random mdtest command lines are rendered unchanged.
func TestMdtestMeaning(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		want := []string{"-n " + strconv.Itoa(85+r.IntN(1000)), "-i " + strconv.Itoa(1+r.IntN(9))}
		only := pick(r, "", "-F", "-D")
		if only != "" {
			want = append(want, only)
		}
		if only != "-D" && r.IntN(2) == 0 {
			size := 1 + r.IntN(1<<20)
			want = append(want, "-w "+strconv.Itoa(size), "-e "+strconv.Itoa(1+r.IntN(size)))
		}
		if r.IntN(2) == 0 {
			want = append(want, "-z "+strconv.Itoa(1+r.IntN(3)), "-b "+strconv.Itoa(1+r.IntN(4)))
		}
		if r.IntN(2) == 0 {
			want = append(want, "-u")
		}
		for _, letter := range []string{"-C", "-T", "-E", "-r", "-t", "-y"} {
			if r.IntN(4) == 0 {
				want = append(want, letter)
			}
		}
		r.Shuffle(len(want), func(i, j int) { want[i], want[j] = want[j], want[i] })
		line := strings.Join(want, " ")
		workloads, err := convert.Mdtest(strings.Fields("mpirun -np 4 mdtest -d /data/mdt "+line), convert.Options{})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		again, err := ior.MdtestArguments(workloads[0].Spec.Mdtest, ior.Parameters{Purpose: ior.Measure})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var got []string
		for i := 0; i < len(again); i++ {
			option := again[i]
			if i+1 < len(again) && again[i+1][0] != '-' {
				i++
				option += " " + again[i]
			}
			if !strings.HasPrefix(option, "-d ") {
				got = append(got, option)
			}
		}
		// Options without an equivalent are not rendered and have a note.
		for _, note := range workloads[0].Notes {
			want = slices.DeleteFunc(want, func(option string) bool { return option == note.Option })
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func FuzzMPI(f *testing.F) {
	f.Add("mpirun -np 4 ior -w -t1m -b=4m -O api=MPIIO,testFile=x -D 4 -z -z -l i")
	f.Add("mdtest -I 3 -z 4 -b 9 -L -w 4k -e 1 --dataPacketType=t -G 4")
	f.Fuzz(func(t *testing.T, text string) {
		arguments := strings.Split(text, " ")
		workloads, err := convert.IOR(arguments, convert.Options{})
		checkConverted(t, workloads, err)
		workloads, err = convert.Mdtest(arguments, convert.Options{})
		checkConverted(t, workloads, err)
	})
}
