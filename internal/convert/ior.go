package convert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// IOR converts a command line of IOR, which may begin with mpirun and its options. The profile states settings
// explicitly even if a value equals the API's default, because IOR's defaults differ from the API's: IOR uses one
// shared file, does not flush, and removes its files.
func IOR(arguments []string, options Options) ([]Workload, error) {
	if err := checkArguments(arguments); err != nil {
		return nil, fmt.Errorf("read the command line of IOR: %w", err)
	}
	line, err := readMPI(arguments, "ior", "BcCeEFgHIkKmnpPqrRSuvVwWxyYzZh", "aAbdDfGijJlMNoOQstTUXL")
	if err != nil {
		return nil, fmt.Errorf("read the command line of IOR: %w", err)
	}
	w := iorWriter{profile: &v1alpha1.IORProfile{API: "POSIX"}, given: map[string]mpiOption{}, processes: line.processes, notes: line.notes,
		transfer: 256 << 10, block: 1 << 20}
	var problems []error
	for _, option := range line.options {
		if err := w.option(option); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", shown(option.String()), err))
		}
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("read the command line of IOR: %w", all(problems))
	}
	w.finish()
	if problems := ior.Validate(field.NewPath("ior"), w.profile); len(problems) > 0 {
		return nil, fmt.Errorf("a profile cannot express this IOR command line: %w", problems.ToAggregate())
	}
	result := Workload{Name: options.name("ior"), Notes: w.notes, Processes: w.processes, Duration: w.limit}
	result.Spec.IOR = w.profile
	return []Workload{result}, nil
}

type iorWriter struct {
	profile         *v1alpha1.IORProfile
	given           map[string]mpiOption
	transfer, block int64
	processes       int64
	limit           time.Duration
	notes           notes
}

// iorDirectives maps the names that can be set with -O to the equivalent options. The names are in lower case, because
// IOR ignores case.
var iorDirectives = map[string]string{
	"api": "-a", "transfersize": "-t", "blocksize": "-b", "segmentcount": "-s", "fileperproc": "-F", "readfile": "-r", "writefile": "-w", "checkwrite": "-W",
	"checkread": "-R", "reordertasksconstant": "-C", "reordertasks": "-C", "reordertasksrandom": "-Z", "repetitions": "-i", "intratestbarriers": "-g",
	"keepfile": "-k", "fsync": "-e", "collective": "-c", "randomoffset": "-z", "deadlineforstonewalling": "-D", "maxtimeduration": "-T", "testfile": "-o",
	"useexistingtestfile": "-E", "verbose": "-v", "numtasks": "-N", "taskpernodeoffset": "-Q", "refnum": "-A", "intertestdelay": "-d", "outlierthreshold": "-j",
	"uniquedir": "-u", "multifile": "-m", "settimestampsignature": "-G", "singlexferattempt": "-x", "fsyncperwrite": "-Y", "datapackettype": "-l", "useo_direct": "-B",
	"preallocate": "-p", "usestrideddatatype": "-S", "usefileview": "-V",
}

func (w *iorWriter) option(o mpiOption) error {
	if o.name == "-O" {
		for directive := range strings.SplitSeq(o.value, ",") {
			name, value, _ := strings.Cut(directive, "=")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			letter, known := iorDirectives[strings.ToLower(name)]
			if !known {
				w.directive(name, value)
				continue
			}
			if err := w.option(mpiOption{name: letter, value: value, hasValue: true}); err != nil {
				return err
			}
		}
		return nil
	}
	if long, ok := map[string]string{"--collective": "-c", "--dataPacketType": "-l", "--posix.odirect": "-B"}[o.name]; ok {
		o.name = long
	}
	p := w.profile
	var count int64
	var err error
	switch o.name {
	case "-a":
		p.API = strings.ToUpper(o.value)
	case "-t":
		w.transfer, err = mpiBytes(o.value)
	case "-b":
		w.block, err = mpiBytes(o.value)
	case "-s":
		count, err = mpiCount(o.value, 1_000_000)
		p.Segments = &count
	case "-i":
		count, err = mpiCount(o.value, 50_000)
		p.Repetitions = new(int32(count)) // #nosec G115 -- bounded
	case "-D":
		if count, err = mpiCount(o.value, 604_800); count > 0 {
			p.Stonewall = new(v1alpha1.Duration(fmt.Sprintf("%ds", count)))
		}
	case "-T":
		if count, err = mpiCount(o.value, 7*24*60); count > 0 {
			w.limit = time.Duration(count) * time.Minute
			w.notes.elsewhere(o.String(), "the phase sets the duration; IOR checks the time only between repetitions, but a phase ends on time", "set steady.duration to "+Seconds(w.limit))
		}
	case "-l":
		err = w.pattern(o.value)
	case "-N":
		w.processes, err = mpiCount(o.value, 1<<31)
		w.notes.elsewhere(o.String(), "the number of ranks is clients.count times processesPerClient", "set processesPerClient and clients.count")
	case "-o":
		w.notes.elsewhere(o.String(), "storagebench chooses its own file names under the target's path", "set the target's path or claim")
		w.given[o.name] = o
	case "-z":
		if _, twice := w.given["-z"]; twice {
			w.notes.differs("-z -z", "repeated random offsets are not supported; here each offset is used once, in random order", "")
		}
		w.given[o.name] = o
	case "-v":
		w.notes.unneeded(o.String(), whyOutput)
	case "-B", "-c", "-C", "-e", "-E", "-F", "-g", "-k", "-p", "-r", "-R", "-V", "-w", "-W", "-Z":
		w.given[o.name] = o
	case "-S":
		w.notes.unneeded(o.String(), "IOR does not implement this option and uses its default")
	case "-G":
		w.notes.unneeded(o.String(), "the data signature is derived from the run's seed")
	default:
		w.argument(o.String(), o.words())
	}
	return err
}

// directive converts a setting of the form -O name=value for which IOR has no equivalent single-letter option.
func (w *iorWriter) directive(name, value string) {
	text := name + "=" + value
	switch strings.ToLower(name) {
	case "stonewallingwearout":
		w.profile.StonewallWearOut = new(value == "1")
	case "summaryfile", "summaryformat", "summaryalways", "saverankperformancedetailscsv", "saveperopdatacsv", "storefileoffset":
		w.notes.unneeded("-O "+text, whyOutput)
	case "mintimeduration":
		w.notes.elsewhere("-O "+text, "the phase sets the duration", "set its duration")
	default:
		w.argument("-O "+text, []string{"-O", text})
	}
}

func (w *iorWriter) pattern(value string) error {
	names := map[string]string{"t": "Timestamp", "o": "Offset", "i": "Incompressible", "r": "Random"}
	if value != "" {
		if name, known := names[strings.ToLower(value[:1])]; known {
			w.profile.DataPattern = name
			return nil
		}
	}
	return fmt.Errorf("must be timestamp, offset, incompressible or random")
}

// argument adds an option to the profile's args, or a note if args must not contain it.
func (w *iorWriter) argument(text string, words []string) {
	trial := &v1alpha1.IORProfile{TransferSize: *quantity(8), BlockSize: *quantity(8), Args: append(slices.Clone(w.profile.Args), words...)}
	if problems := ior.Validate(field.NewPath("ior"), trial); len(problems) > 0 {
		w.notes.differs(text, shownWhy(problems[0].Detail), "")
		return
	}
	w.profile.Args = trial.Args
}

func (w *iorWriter) flag(name string) bool {
	option, given := w.given[name]
	return given && option.on()
}

// only returns the value for an API field that defaults to false: a pointer to true if the flag with the given name is
// set, and nil otherwise.
func (w *iorWriter) only(name string) *bool {
	if w.flag(name) {
		return new(true)
	}
	return nil
}

// finish sets the fields that depend on several options.
func (w *iorWriter) finish() {
	p := w.profile
	p.TransferSize, p.BlockSize = *quantity(w.transfer), *quantity(w.block)
	p.FilePerProcess, p.Fsync, p.KeepFiles = new(w.flag("-F")), new(w.flag("-e")), new(w.flag("-k"))
	writes, reads := w.flag("-w"), w.flag("-r")
	if !writes && !reads && !w.flag("-W") && !w.flag("-R") {
		writes, reads = true, true
	}
	reads = reads || w.flag("-R")
	if w.flag("-W") && !writes {
		reads = true
		w.notes.differs("-W", "without -w, IOR checks existing data but reports no rate for the check; the profile checks the data during a measured read", "")
	}
	if writes {
		p.Operations = append(p.Operations, v1alpha1.OperationWrite)
	}
	if reads {
		p.Operations = append(p.Operations, v1alpha1.OperationRead)
	}
	if w.flag("-W") || w.flag("-R") {
		p.Verify = new(true)
		if writes && reads && w.flag("-W") != w.flag("-R") {
			w.notes.differs("-W or -R", "verify always checks the data both after writes and during reads", "")
		}
	}
	if reads && !writes && !*p.KeepFiles {
		p.KeepFiles = nil
		w.notes.differs("no -k", "IOR removes its files after the first repetition; here they stay", "the target's dataPolicy determines whether the files are removed at the end of the run")
	}
	w.paths()
	p.Random, p.Direct, p.IntraTestBarriers, p.UseExistingFiles = w.only("-z"), w.only("-B"), w.only("-g"), w.only("-E")
	if p.Repetitions == nil {
		p.Repetitions = new(int32(1))
	}
	if reads {
		p.ReorderTasks = v1alpha1.IORReorderNone
	}
	if order := map[bool]v1alpha1.IORReorder{true: v1alpha1.IORReorderRandom, false: v1alpha1.IORReorderConstant}[w.flag("-Z")]; w.flag("-Z") || w.flag("-C") {
		if p.ReorderTasks = order; !reads {
			p.ReorderTasks = ""
			w.notes.unneeded("-C or -Z", "sets which rank reads which data, but the load reads nothing")
		}
	}
	switch {
	case !w.flag("-c"):
	case p.API == "MPIIO":
		p.Collective = new(true)
	default:
		w.notes.unneeded("-c", "the api "+shown(p.API)+" has no collective operations; IOR ignores this option too")
	}
	w.onlyMPIIO()
	if p.StonewallWearOut != nil && p.Stonewall == nil {
		p.StonewallWearOut = nil
		w.notes.unneeded("-O stoneWallingWearOut", "has no effect without a stonewall time")
	}
	if p.DataPattern == "" {
		w.notes.differs("no -l", "the data depends on the version of IOR, which matters on a store that compresses: the default data of 3.3.0 compresses differently from that of 4.0.0",
			"set dataPattern, for example Random with 4.0.0 or later")
	}
}

// onlyMPIIO converts the options that apply only to IOR's MPIIO API.
func (w *iorWriter) onlyMPIIO() {
	for _, only := range [][2]string{{"-p", "--mpiio.preallocate"}, {"-V", "--mpiio.useFileView"}} {
		switch {
		case !w.flag(only[0]):
		case w.profile.API == "MPIIO":
			w.argument(only[0], only[1:])
		default:
			w.notes.unneeded(only[0], "applies only to the MPIIO API; IOR ignores it with other APIs")
		}
	}
}

// paths adds a note if -o names several files. IOR uses only the first one, unless each rank has its own file.
func (w *iorWriter) paths() {
	names := w.given["-o"]
	switch {
	case !strings.Contains(names.value, "@"):
	case w.flag("-F"):
		w.notes.severalPaths(names)
	default:
		w.notes.unneeded(names.String(), "all ranks share the file at the first path; IOR also ignores the other paths")
	}
}
