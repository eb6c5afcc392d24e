package ior

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// workload is a parsed profile in which unset fields have their defaults.
type workload struct {
	api                      string
	transfer, block          int64
	segments                 int64
	filePerProcess           bool
	writes, reads            bool
	collective, random       bool
	direct, fsync            bool
	barriers, keep, existing bool
	reorder                  v1alpha1.IORReorder
	repetitions              int64
	// counted is true if the profile sets the number of repetitions.
	counted         bool
	stonewall       time.Duration
	wearOut, verify bool
	pattern         string
	args            []argument
}

// maxFileBytes is the maximum total size of a rank's blocks.
const maxFileBytes = 1 << 60

// Validate returns all errors in a profile, each with its field, the value and the remedy.
func Validate(path *field.Path, profile *v1alpha1.IORProfile) field.ErrorList {
	_, problems := readProfile(path, profile)
	return problems
}

type reader struct {
	path     *field.Path
	problems field.ErrorList
}

func (r *reader) refuse(name string, value any, format string, arguments ...any) {
	r.problems = append(r.problems, field.Invalid(r.path.Child(name), value, fmt.Sprintf(format, arguments...)))
}

func isTrue(value *bool) bool { return value != nil && *value }

func isNotFalse(value *bool) bool { return value == nil || *value }

func (r *reader) size(name string, quantity *resource.Quantity, least, most int64, example string) int64 {
	value := quantity.Value()
	if value == math.MaxInt64 || quantity.Cmp(*resource.NewQuantity(value, resource.DecimalSI)) != 0 || value < least || value > most {
		r.refuse(name, quantity.String(), "must be a whole number of bytes from %d to %d, such as %s", least, most, example)
		return 0
	}
	return value
}

func readProfile(path *field.Path, profile *v1alpha1.IORProfile) (workload, field.ErrorList) {
	r := reader{path: path}
	w := workload{
		api: cmp.Or(profile.API, "POSIX"), segments: 1, filePerProcess: isNotFalse(profile.FilePerProcess), collective: isTrue(profile.Collective),
		random: isTrue(profile.Random), direct: isTrue(profile.Direct), fsync: isNotFalse(profile.Fsync),
		barriers: isTrue(profile.IntraTestBarriers), keep: isNotFalse(profile.KeepFiles), existing: isTrue(profile.UseExistingFiles),
		reorder: profile.ReorderTasks, repetitions: 1, wearOut: isTrue(profile.StonewallWearOut), verify: isTrue(profile.Verify), pattern: profile.DataPattern,
	}
	if w.api != "POSIX" && w.api != "MPIIO" {
		r.refuse("api", profile.API, "must be POSIX or MPIIO")
	}
	w.transfer = r.size("transferSize", &profile.TransferSize, 8, 1<<30, "1Mi")
	w.block = r.size("blockSize", &profile.BlockSize, 8, 1<<50, "12000Mi")
	if profile.Segments != nil {
		w.segments = *profile.Segments
	}
	if profile.Repetitions != nil {
		w.repetitions, w.counted = int64(*profile.Repetitions), true
	}
	w.readOperations(&r, profile)
	w.readStonewall(&r, profile)
	w.checkSizes(&r)
	w.checkTogether(&r, profile)
	w.args = r.arguments("args", profile.Args, iorOptions)
	return w, r.problems
}

func (w *workload) readOperations(r *reader, profile *v1alpha1.IORProfile) {
	operations := profile.Operations
	if len(operations) == 0 {
		operations = []v1alpha1.Operation{v1alpha1.OperationWrite}
	}
	for _, operation := range operations {
		switch operation {
		case v1alpha1.OperationWrite:
			w.writes = true
		case v1alpha1.OperationRead:
			w.reads = true
		default:
			r.refuse("operations", operation, "must be Write or Read")
		}
	}
}

func (w *workload) readStonewall(r *reader, profile *v1alpha1.IORProfile) {
	if profile.Stonewall == nil {
		if w.wearOut {
			r.refuse("stonewallWearOut", true, "applies only with a stonewall: set stonewall, or remove stonewallWearOut")
		}
		return
	}
	value, err := profile.Stonewall.Parse()
	switch {
	case err != nil:
		r.refuse("stonewall", string(*profile.Stonewall), "%v", err)
	case value < time.Second || value%time.Second != 0:
		r.refuse("stonewall", string(*profile.Stonewall), "must be whole seconds and at least 1s, such as 60s")
	default:
		w.stonewall = value
	}
}

func (w *workload) checkSizes(r *reader) {
	if w.segments < 1 || w.segments > 1_000_000 {
		r.refuse("segments", w.segments, "must be from 1 to 1000000: for more data, raise blockSize")
	}
	if w.repetitions < 1 || w.repetitions > 50_000 {
		r.refuse("repetitions", w.repetitions, "must be from 1 to 50000")
	}
	if w.transfer <= 0 || w.block <= 0 {
		return
	}
	if w.transfer%8 != 0 {
		r.refuse("transferSize", w.transfer, "must be a multiple of 8, such as 1Mi")
	}
	if w.direct && w.transfer%512 != 0 {
		r.refuse("transferSize", w.transfer, "must be a multiple of 512 for direct I/O (4k is 4000, 4Ki is 4096): change it, or set direct to false")
	}
	if w.block%w.transfer != 0 {
		r.refuse("blockSize", w.block, "must be a multiple of transferSize (%d)", w.transfer)
	}
	if w.random && w.block == w.transfer {
		r.refuse("random", true, "blockSize equals transferSize, so each block has only one possible offset: raise blockSize, and lower segments")
	}
	if w.segments > 0 && w.block > maxFileBytes/w.segments {
		r.refuse("segments", w.segments, "with blocks of %d bytes, the data of each rank exceeds %d bytes: lower segments or blockSize", w.block, int64(maxFileBytes))
	}
}

// checkTogether adds an error for each combination of fields that IOR rejects or silently misinterprets. It also sets
// the default of reorderTasks.
func (w *workload) checkTogether(r *reader, profile *v1alpha1.IORProfile) {
	if w.direct && w.api != "POSIX" {
		r.refuse("direct", true, "only the POSIX API supports direct I/O: remove direct, or set api to POSIX")
	}
	if w.collective && w.api != "MPIIO" {
		r.refuse("collective", true, "only the MPIIO API has collective operations: set api to MPIIO, or remove collective")
	}
	switch w.reorder {
	case "":
		w.reorder = v1alpha1.IORReorderNone
		if w.reads && (!w.random || w.filePerProcess) {
			w.reorder = v1alpha1.IORReorderConstant
		}
	case v1alpha1.IORReorderNone:
	case v1alpha1.IORReorderConstant, v1alpha1.IORReorderRandom:
		if w.random && !w.filePerProcess {
			r.refuse("reorderTasks", w.reorder, "not possible with random offsets in a shared file: set reorderTasks to None, or filePerProcess to true")
		}
	default:
		r.refuse("reorderTasks", w.reorder, "must be None, Constant or Random")
	}
	if w.reads && !w.writes && !w.keep {
		r.refuse("keepFiles", false, "after the first repetition, IOR would remove the files that it reads: remove keepFiles, or add Write to operations")
	}
	if !slices.Contains([]string{"", "Timestamp", "Offset", "Incompressible", "Random"}, w.pattern) {
		r.refuse("dataPattern", w.pattern, "must be Timestamp, Offset, Incompressible or Random")
	}
	if !w.verify {
		return
	}
	if w.random {
		r.refuse("verify", true, "not possible with random offsets: remove verify, or random")
	}
	if w.pattern == "Incompressible" || w.pattern == "Random" {
		r.refuse("verify", true, "needs reproducible data: set dataPattern to Timestamp or Offset")
	}
	if profile.Stonewall != nil && !w.wearOut && w.reads {
		r.refuse("verify", true, "not possible with a stonewall, which leaves files of different lengths: set stonewallWearOut, or remove verify")
	}
}

// sizeText formats a number of bytes exactly, in IOR's units 2^10, 2^20 and 2^30.
func sizeText(bytes int64) string {
	for _, unit := range []struct {
		bytes  int64
		letter string
	}{{1 << 30, "g"}, {1 << 20, "m"}, {1 << 10, "k"}} {
		if bytes != 0 && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.letter
		}
	}
	return strconv.FormatInt(bytes, 10)
}
