package ior

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/golden"
)

// iorProfile returns the workload of section 11 of the design, modified by change.
func iorProfile(change func(*v1alpha1.IORProfile)) *v1alpha1.IORProfile {
	profile := &v1alpha1.IORProfile{
		TransferSize: resource.MustParse("1Mi"), BlockSize: resource.MustParse("1Mi"), Segments: new(int64(12000)),
		Operations: []v1alpha1.Operation{v1alpha1.OperationWrite}, Direct: new(true), Fsync: new(false),
		IntraTestBarriers: new(true), Repetitions: new(int32(1000)), Args: []string{"-v"},
	}
	if change != nil {
		change(profile)
	}
	return profile
}

func mdtestProfile(change func(*v1alpha1.MdtestProfile)) *v1alpha1.MdtestProfile {
	profile := &v1alpha1.MdtestProfile{FilesPerProcess: 200, Iterations: new(int32(3)), UniqueDirectories: new(true)}
	if change != nil {
		change(profile)
	}
	return profile
}

// meaning returns the options of an IOR command line without defaults, so that their order does not matter.
func meaning(t *testing.T, arguments []string) map[string]string {
	t.Helper()
	asked := map[string]string{}
	for i := 0; i < len(arguments); i++ {
		name := arguments[i]
		if !strings.HasPrefix(name, "-") {
			t.Fatalf("%q is not an option", name)
		}
		if i+1 < len(arguments) && !strings.HasPrefix(arguments[i+1], "-") {
			i++
			if name == "-O" {
				name, arguments[i], _ = strings.Cut(arguments[i], "=")
			}
			asked[name] = arguments[i]
			continue
		}
		asked[name] = "on"
	}
	for name, value := range map[string]string{"-a": "POSIX", "-D": "0"} {
		if asked[name] == value {
			delete(asked, name)
		}
	}
	delete(asked, "-o")
	delete(asked, "summaryFormat")
	return asked
}

// TestTheCommandOfThePost checks the command of section 11 of the design: 144 ranks write 12,000 MiB each for twelve
// hours.
func TestTheCommandOfThePost(t *testing.T) {
	t.Parallel()
	arguments, err := Arguments(iorProfile(nil), Parameters{Purpose: Measure, Limit: 12 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "post", strings.Join(arguments, " ")+"\n")
	post := strings.Fields("--posix.odirect -t 1m -b 1m -s 12000 -g -v -w -i 1000 -F -k -D 0 -T 720 -o /fsx/seed.bin")
	got, want := meaning(t, slices.Clone(arguments)), meaning(t, post)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("asked for %v, the post for %v", got, want)
	}
}

func TestArgumentsGolden(t *testing.T) {
	t.Parallel()
	plain := func(p *v1alpha1.IORProfile) {
		*p = v1alpha1.IORProfile{TransferSize: resource.MustParse("4Ki"), BlockSize: resource.MustParse("4Mi")}
	}
	both := []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}
	stonewall := v1alpha1.Duration("30s")
	var text strings.Builder
	for _, test := range []struct {
		name       string
		change     func(*v1alpha1.IORProfile)
		parameters Parameters
	}{
		{"plain", nil, Parameters{Purpose: Measure}},
		{"prepare", func(p *v1alpha1.IORProfile) { p.Fsync, p.Operations, p.Args = new(false), both, []string{"-d", "5"} }, Parameters{Purpose: Prepare}},
		{"steady write", nil, Parameters{Purpose: Measure, Duration: 15 * time.Minute}},
		{"steady write, 3.3.0", nil, Parameters{Purpose: Measure, Duration: 15 * time.Minute, Version: "3.3.0"}},
		{"steady read by stonewall", func(p *v1alpha1.IORProfile) {
			p.Operations, p.Stonewall = both[1:], &stonewall
		}, Parameters{Purpose: Measure, Duration: 95 * time.Second}},
		{"steady both", func(p *v1alpha1.IORProfile) { p.Operations = both }, Parameters{Purpose: Measure, Duration: 61500 * time.Millisecond}},
		{"drain", nil, Parameters{Purpose: Measure, Limit: 6 * time.Hour}},
		{"drain with stonewall and wear-out", func(p *v1alpha1.IORProfile) {
			p.Stonewall, p.StonewallWearOut = &stonewall, new(true)
		}, Parameters{Purpose: Measure, Limit: 90 * time.Second}},
		{"shared, MPIIO, collective, random reorder", func(p *v1alpha1.IORProfile) {
			p.API, p.Collective, p.FilePerProcess, p.Operations, p.ReorderTasks = "MPIIO", new(true), new(false), both, v1alpha1.IORReorderRandom
		}, Parameters{Purpose: Measure}},
		{"random in a shared file", func(p *v1alpha1.IORProfile) {
			p.Random, p.FilePerProcess, p.Operations = new(true), new(false), both
		}, Parameters{Purpose: Measure}},
		{"verify, offset pattern, existing files", func(p *v1alpha1.IORProfile) {
			p.Verify, p.DataPattern, p.Operations, p.UseExistingFiles, p.KeepFiles = new(true), "Offset", both, new(true), new(false)
		}, Parameters{Purpose: Measure, Seed: 7}},
		{"args", func(p *v1alpha1.IORProfile) {
			p.Args = []string{"-v", "-v", "-d", "5", "-Q=2", "-x", "-O", "interIODelay=10", "--random-offset-seed=3", "--randomPrefill 1m"}
		}, Parameters{Purpose: Measure}},
	} {
		change := test.change
		arguments, err := Arguments(iorProfile(func(p *v1alpha1.IORProfile) {
			plain(p)
			if change != nil {
				change(p)
			}
		}), test.parameters)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		fmt.Fprintf(&text, "%s:\n  ior %s\n", test.name, strings.Join(arguments, " "))
	}
	for _, test := range []struct {
		name    string
		change  func(*v1alpha1.MdtestProfile)
		version string
	}{
		{"plain", nil, ""},
		{"small files in a tree", func(p *v1alpha1.MdtestProfile) {
			p.FilesOnly, p.FileSize, p.ReadSize = new(true), new(resource.MustParse("3901")), new(resource.MustParse("1Ki"))
			p.Depth, p.Branching, p.Args = new(int32(2)), new(int32(4)), []string{"-L", "-R", "--random-seed=9"}
		}, "3.3.0"},
		{"directories", func(p *v1alpha1.MdtestProfile) {
			p.DirectoriesOnly, p.Args = new(true), []string{"--dataPacketType", "random", "-W", "30"}
		}, "4.0.0"},
	} {
		arguments, err := MdtestArguments(mdtestProfile(test.change), Parameters{Purpose: Measure, Version: test.version})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		fmt.Fprintf(&text, "%s:\n  mdtest %s\n", test.name, strings.Join(arguments, " "))
	}
	golden.Check(t, "arguments", text.String())
}

// TestPaceFillsTheDuration checks the number and the length of the repetitions that fill a time-bound step.
func TestPaceFillsTheDuration(t *testing.T) {
	t.Parallel()
	both := []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}
	for _, test := range []struct {
		operations []v1alpha1.Operation
		stonewall  v1alpha1.Duration
		duration   time.Duration
		want       string
	}{
		{both, "", 65 * time.Second, "-i 1 -k -D 33 "},
		{both[:1], "300s", 10*time.Minute + 30*time.Second, "-i 3 -k -D 210 "},
		{both, "30s", 10 * time.Minute, "-i 10 -k -D 30 "},
		{both[:1], "1s", 48 * time.Hour, "-i 50000 -k -D 1 "},
		{both, "", time.Second, "-i 1 -k -D 1 "},
	} {
		arguments, err := Arguments(iorProfile(func(p *v1alpha1.IORProfile) {
			p.Operations = test.operations
			if test.stonewall != "" {
				p.Stonewall = &test.stonewall
			}
		}), Parameters{Purpose: Measure, Duration: test.duration})
		if err != nil || !strings.Contains(strings.Join(arguments, " "), test.want) {
			t.Errorf("%v in %v, stonewall %q: %v %v, want %s", test.operations, test.duration, test.stonewall, arguments,
				err, test.want)
		}
	}
}

// TestEqualFiles checks that ranks extend their files to equal length after a stonewall if they then read the files of
// others.
func TestEqualFiles(t *testing.T) {
	t.Parallel()
	both := []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}
	stonewall := v1alpha1.Duration("30s")
	for name, test := range map[string]struct {
		operations []v1alpha1.Operation
		reorder    v1alpha1.IORReorder
		stonewall  *v1alpha1.Duration
		parameters Parameters
		existing   bool
		want       bool
	}{
		"by time":         {both, "", nil, Parameters{Purpose: Measure, Duration: time.Minute}, false, true},
		"by a stonewall":  {both, v1alpha1.IORReorderRandom, &stonewall, Parameters{Purpose: Measure, Limit: time.Hour}, false, true},
		"whole files":     {both, "", nil, Parameters{Purpose: Measure, Limit: time.Hour}, false, false},
		"own files":       {both, v1alpha1.IORReorderNone, nil, Parameters{Purpose: Measure, Duration: time.Minute}, false, false},
		"writes alone":    {both[:1], "", nil, Parameters{Purpose: Measure, Duration: time.Minute}, false, false},
		"reads alone":     {both[1:], "", nil, Parameters{Purpose: Measure, Duration: time.Minute}, false, false},
		"existing files":  {both, "", nil, Parameters{Purpose: Measure, Duration: time.Minute}, true, false},
		"layout of files": {both, "", &stonewall, Parameters{Purpose: Prepare}, false, false},
	} {
		arguments, err := Arguments(iorProfile(func(p *v1alpha1.IORProfile) {
			p.Operations, p.ReorderTasks, p.Stonewall = test.operations, test.reorder, test.stonewall
			p.UseExistingFiles = new(test.existing)
		}), test.parameters)
		if err != nil || slices.Contains(arguments, wearOut) != test.want {
			t.Errorf("%s: %v %v", name, arguments, err)
		}
	}
}

// TestRefusals checks that each refusal names the field, the value and the remedy.
func TestRefusals(t *testing.T) {
	t.Parallel()
	short := v1alpha1.Duration("1500ms")
	long := v1alpha1.Duration("30s")
	read := []v1alpha1.Operation{v1alpha1.OperationRead}
	arg := func(arguments ...string) func(*v1alpha1.IORProfile) {
		return func(p *v1alpha1.IORProfile) { p.Args = arguments }
	}
	for wanted, change := range map[string]func(*v1alpha1.IORProfile){
		`ior.blockSize: Invalid value: 4194304: must be a multiple of transferSize (3145728)`: func(p *v1alpha1.IORProfile) {
			p.TransferSize, p.BlockSize = resource.MustParse("3Mi"), resource.MustParse("4Mi")
		},
		`ior.transferSize: Invalid value: 4000: must be a multiple of 512`: func(p *v1alpha1.IORProfile) {
			p.TransferSize, p.BlockSize = resource.MustParse("4k"), resource.MustParse("4M")
		},
		`ior.transferSize: Invalid value: 12: must be a multiple of 8`: func(p *v1alpha1.IORProfile) {
			p.TransferSize, p.BlockSize, p.Direct = resource.MustParse("12"), resource.MustParse("24"), nil
		},
		`ior.transferSize: Invalid value: "100m": must be a whole number of bytes`: func(p *v1alpha1.IORProfile) { p.TransferSize = resource.MustParse("100m") },
		`ior.segments: Invalid value: 1000000: with blocks of`: func(p *v1alpha1.IORProfile) {
			p.BlockSize, p.Segments = resource.MustParse("1Pi"), new(int64(1_000_000))
		},
		`ior.segments: Invalid value: 0: must be from 1 to 1000000`:                                   func(p *v1alpha1.IORProfile) { p.Segments = new(int64(0)) },
		`ior.random: Invalid value: true: blockSize equals transferSize`:                              func(p *v1alpha1.IORProfile) { p.Random = new(true) },
		`ior.api: Invalid value: "HDF5": must be POSIX or MPIIO`:                                      func(p *v1alpha1.IORProfile) { p.API, p.Direct = "HDF5", nil },
		`ior.direct: Invalid value: true: only the POSIX API supports direct I/O`:                     func(p *v1alpha1.IORProfile) { p.API = "MPIIO" },
		`ior.collective: Invalid value: true: only the MPIIO API`:                                     func(p *v1alpha1.IORProfile) { p.Collective = new(true) },
		`ior.stonewall: Invalid value: "1500ms": must be whole seconds`:                               func(p *v1alpha1.IORProfile) { p.Stonewall = &short },
		`ior.stonewallWearOut: Invalid value: true: applies only with a stonewall`:                    func(p *v1alpha1.IORProfile) { p.StonewallWearOut = new(true) },
		`ior.keepFiles: Invalid value: false: after the first repetition, IOR would remove the files`: func(p *v1alpha1.IORProfile) { p.KeepFiles, p.Operations = new(false), read },
		`ior.dataPattern: Invalid value: "Zero": must be Timestamp`:                                   func(p *v1alpha1.IORProfile) { p.DataPattern = "Zero" },
		`ior.verify: Invalid value: true: needs reproducible data`:                                    func(p *v1alpha1.IORProfile) { p.Verify, p.DataPattern = new(true), "Random" },
		`ior.verify: Invalid value: true: not possible with a stonewall`:                              func(p *v1alpha1.IORProfile) { p.Verify, p.Stonewall, p.Operations = new(true), &long, read },
		`ior.reorderTasks: Invalid value: "Constant": not possible with random offsets`: func(p *v1alpha1.IORProfile) {
			p.Random, p.BlockSize, p.FilePerProcess, p.Operations, p.ReorderTasks = new(true), resource.MustParse("2Mi"), new(false), read, v1alpha1.IORReorderConstant
		},
		`ior.args: Invalid value: "-o": storagebench chooses the file names`:                                 arg("-o", "/etc/passwd"),
		`ior.args: Invalid value: "-f": storagebench chooses the file names`:                                 arg("-f=script"),
		`ior.args: Invalid value: "summaryFile": storagebench chooses the file names`:                        arg("-O", "summaryFile=/tmp/x"),
		`ior.args: Invalid value: "SUMMARYFILE": storagebench chooses the file names`:                        arg("-O=SUMMARYFILE=/tmp/x"),
		`ior.args: Invalid value: "stoneWallingStatusFile": storagebench chooses the file names`:             arg("-O", "interIODelay=1,stoneWallingStatusFile=x"),
		`ior.args: Invalid value: "-t": set transferSize in the profile`:                                     arg("-t", "1m"),
		`ior.args: Invalid value: "-N": the number of ranks is clients.count times processesPerClient`:       arg("-N", "4"),
		`ior.args: Invalid value: "--dryRun": it reports figures without doing any I/O`:                      arg("--dryRun"),
		`ior.args: Invalid value: "-d x; rm": use a whole number from 0 to 86400`:                            arg("-d", "x; rm"),
		`ior.args: Invalid value: "-v": may be used at most 2 times`:                                         arg("-v", "-v", "-v"),
		`ior.args: Invalid value: "--hdfs.user": it is not on the list of allowed options`:                   arg("--hdfs.user=root"),
		`ior.args: Invalid value: "-vvv": it is not on the list of allowed options`:                          arg("-vvv"),
		`ior.args: Invalid value: "/etc/passwd": it is not on the list of allowed options`:                   arg("/etc/passwd"),
		`ior.args: Invalid value: "": it is not on the list of allowed options`:                              arg("-O"),
		`ior.args: Invalid value: "--posix.lustre.stripecount": the target's field lustre sets the striping`: arg("--posix.lustre.stripecount=4"),
	} {
		checkRefusal(t, wanted, Validate(field.NewPath("ior"), iorProfile(change)))
	}
	mdarg := func(arguments ...string) func(*v1alpha1.MdtestProfile) {
		return func(p *v1alpha1.MdtestProfile) { p.Args = arguments }
	}
	for wanted, change := range map[string]func(*v1alpha1.MdtestProfile){
		`mdtest.filesPerProcess: Invalid value: 0: must be from 1 to`:           func(p *v1alpha1.MdtestProfile) { p.FilesPerProcess = 0 },
		`mdtest.branching: Invalid value: 0: must be from 1 to 1024`:            func(p *v1alpha1.MdtestProfile) { p.Branching = new(int32(0)) },
		`mdtest.depth: Invalid value: -1: must be from 0 to 64`:                 func(p *v1alpha1.MdtestProfile) { p.Depth = new(int32(-1)) },
		`mdtest.directoriesOnly: Invalid value: true: conflicts with filesOnly`: func(p *v1alpha1.MdtestProfile) { p.FilesOnly, p.DirectoriesOnly = new(true), new(true) },
		`mdtest.readSize: Invalid value: "1Ki": must be at most fileSize (0)`:   func(p *v1alpha1.MdtestProfile) { p.ReadSize = new(resource.MustParse("1Ki")) },
		`mdtest.fileSize: Invalid value: "1Ki": directories have no size`: func(p *v1alpha1.MdtestProfile) {
			p.DirectoriesOnly, p.FileSize = new(true), new(resource.MustParse("1Ki"))
		},
		`mdtest.args: Invalid value: "--run-cmd-before-phase": benchmarks may not run commands`: mdarg("--run-cmd-before-phase=/bin/sh"),
		`mdtest.args: Invalid value: "-d": storagebench chooses the file names`:                 mdarg("-d", "/"),
		`mdtest.args: Invalid value: "-C": a step runs all of mdtest's phases`:                  mdarg("-C"),
		`mdtest.args: Invalid value: "-Z": it changes the format of the results`:                mdarg("-Z"),
		`mdtest.args: Invalid value: "-S": -S (a shared file) conflicts with uniqueDirectories`: mdarg("-S"),
		`mdtest.args: Invalid value: "-N": with -N, mdtest looks for another rank's files`:      func(p *v1alpha1.MdtestProfile) { p.Depth, p.Args = new(int32(2)), []string{"-N", "1"} },
		`mdtest.args: Invalid value: "-I": must divide filesPerProcess (200) evenly`:            mdarg("-I", "3"),
		`mdtest.args: Invalid value: "-I": mdtest refuses -I with uniqueDirectories`:            mdarg("-I", "10"),
		`mdtest.filesPerProcess: Invalid value: 200: must be at least 341, the number of directories`: func(p *v1alpha1.MdtestProfile) {
			p.Depth, p.Branching = new(int32(4)), new(int32(4))
		},
	} {
		checkRefusal(t, wanted, ValidateMdtest(field.NewPath("mdtest"), mdtestProfile(change)))
	}
}

func checkRefusal(t *testing.T, wanted string, problems field.ErrorList) {
	t.Helper()
	if len(problems) == 0 || !strings.Contains(problems.ToAggregate().Error(), wanted) {
		t.Errorf("want %q, got %v", wanted, problems.ToAggregate())
	}
}

// TestVersionsDiffer checks that a setting that the tool's version does not support is refused before the run.
func TestVersionsDiffer(t *testing.T) {
	t.Parallel()
	pattern := func(name string) *v1alpha1.IORProfile {
		return iorProfile(func(p *v1alpha1.IORProfile) { p.DataPattern = name })
	}
	random := func(filePerProcess bool) *v1alpha1.IORProfile {
		return iorProfile(func(p *v1alpha1.IORProfile) {
			p.Random, p.FilePerProcess, p.BlockSize = new(true), new(filePerProcess), resource.MustParse("2Mi")
			p.Operations = []v1alpha1.Operation{v1alpha1.OperationWrite, v1alpha1.OperationRead}
		})
	}
	for wanted, test := range map[string]struct {
		profile    *v1alpha1.IORProfile
		parameters Parameters
	}{
		"random: IOR reads in a different order":       {random(true), Parameters{Purpose: Measure, Duration: time.Minute}},
		"it would read unwritten space":                {random(false), Parameters{Purpose: Measure, Duration: time.Minute, Version: "3.3.0"}},
		"silently uses its default":                    {pattern("Random"), Parameters{Purpose: Measure, Version: "3.3.0"}},
		"compresses 200:1":                             {pattern("Incompressible"), Parameters{Purpose: Measure, Version: "4.0.0"}},
		"repeats one word":                             {pattern("Incompressible"), Parameters{Purpose: Prepare}},
		"must be a multiple of transferSize (3145728)": {iorProfile(func(p *v1alpha1.IORProfile) { p.TransferSize = resource.MustParse("3Mi") }), Parameters{Purpose: Measure}},
		"is not supported by IOR":                      {pattern(""), Parameters{}},
		"must be at least 1s":                          {pattern(""), Parameters{Purpose: Measure, Duration: time.Millisecond}},
		"does not support --random-offset-seed":        {iorProfile(func(p *v1alpha1.IORProfile) { p.Args = []string{"--random-offset-seed=1"} }), Parameters{Purpose: Measure, Version: "3.3.0"}},
		"verify: needs repetitions":                    {iorProfile(func(p *v1alpha1.IORProfile) { p.Verify = new(true) }), Parameters{Purpose: Measure, Duration: time.Minute}},
	} {
		if _, err := Arguments(test.profile, test.parameters); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("want %q, got %v", wanted, err)
		}
	}
	for _, parameters := range []Parameters{{Purpose: Measure, Version: "4.0.0"}, {Purpose: Measure, Version: "4.1.0+dev"}} {
		for _, profile := range []*v1alpha1.IORProfile{pattern("Random"), random(true)} {
			if _, err := Arguments(profile, parameters); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	traits, err := Describe(iorProfile(nil), 4, 36)
	if err != nil {
		t.Fatal(err)
	}
	const rank = 12000 << 20
	if traits.RankBytes != rank || traits.ClientBytes != 36*rank || traits.DatasetBytes != 144*rank || len(traits.FileSizes) != 144 ||
		traits.FileSizes["ior.data.00000143"] != rank || traits.Reads || !traits.Writes || traits.Buffered || traits.MaxOutstanding != 36 {
		t.Errorf("%+v", traits)
	}
	shared, err := Describe(iorProfile(func(p *v1alpha1.IORProfile) { p.FilePerProcess = new(false) }), 4, 36)
	if err != nil || len(shared.FileSizes) != 1 || shared.FileSizes["ior.data"] != 144*rank {
		t.Errorf("%+v %v", shared, err)
	}
	if _, err := Describe(iorProfile(nil), 0, 1); err == nil {
		t.Error("no clients, and no error")
	}
	files, err := DescribeMdtest(mdtestProfile(func(p *v1alpha1.MdtestProfile) { p.FileSize = new(resource.MustParse("4Ki")) }), 2, 3)
	if err != nil || files.DatasetBytes != 200*6*4096 || !files.Reads {
		t.Errorf("%+v %v", files, err)
	}
}
