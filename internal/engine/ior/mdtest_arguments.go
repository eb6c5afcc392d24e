package ior

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
)

// mdtestWorkload is a parsed mdtest profile in which unset fields have their defaults.
type mdtestWorkload struct {
	items, depth, branching, iterations int64
	fileBytes, readBytes                int64
	unique, filesOnly, directoriesOnly  bool
	args                                []argument
}

// ValidateMdtest returns all errors in a profile, each with its field, the value and the remedy.
func ValidateMdtest(path *field.Path, profile *v1alpha1.MdtestProfile) field.ErrorList {
	_, problems := readMdtest(path, profile)
	return problems
}

func readMdtest(path *field.Path, profile *v1alpha1.MdtestProfile) (mdtestWorkload, field.ErrorList) {
	r := reader{path: path}
	w := mdtestWorkload{
		items: profile.FilesPerProcess, branching: 1, iterations: 1, unique: isTrue(profile.UniqueDirectories),
		filesOnly: isTrue(profile.FilesOnly), directoriesOnly: isTrue(profile.DirectoriesOnly),
	}
	for _, count := range []struct {
		name        string
		given       *int32
		target      *int64
		least, most int64
	}{
		{"depth", profile.Depth, &w.depth, 0, 64}, {"branching", profile.Branching, &w.branching, 1, 1024},
		{"iterations", profile.Iterations, &w.iterations, 1, 1000},
	} {
		if count.given == nil {
			continue
		}
		*count.target = int64(*count.given)
		if *count.target < count.least || *count.target > count.most {
			r.refuse(count.name, *count.given, "must be from %d to %d", count.least, count.most)
		}
	}
	if w.items < 1 || w.items > 100_000_000 {
		r.refuse("filesPerProcess", w.items, "must be from 1 to 100000000")
	}
	if w.filesOnly && w.directoriesOnly {
		r.refuse("directoriesOnly", true, "conflicts with filesOnly: remove one of them, or both to test files and directories")
	}
	if profile.FileSize != nil {
		w.fileBytes = r.size("fileSize", profile.FileSize, 0, 1<<40, "4Ki")
		if w.directoriesOnly {
			r.refuse("fileSize", profile.FileSize.String(), "directories have no size: remove fileSize, or directoriesOnly")
		}
	}
	w.readBytes = w.fileBytes
	if profile.ReadSize != nil {
		w.readBytes = r.size("readSize", profile.ReadSize, 0, 1<<40, "4Ki")
		if w.readBytes > w.fileBytes {
			r.refuse("readSize", profile.ReadSize.String(), "must be at most fileSize (%d): raise fileSize, or lower readSize", w.fileBytes)
		}
	}
	w.args = r.arguments("args", profile.Args, mdtestOptions)
	w.checkArguments(&r)
	return w, r.problems
}

// checkArguments adds an error for each option in args that conflicts with another option or with a field of the
// profile.
func (w *mdtestWorkload) checkArguments(r *reader) {
	refuse := func(name, format string, arguments ...any) {
		if _, ok := w.argument(name); ok {
			r.refuse("args", name, format, arguments...)
		}
	}
	if w.branching > 1 {
		refuse("-W", "-W requires branching 1, but it is %d: lower branching, or remove -W", w.branching)
	}
	if w.fileBytes > 0 {
		refuse("-k", "mknod creates files that cannot be written: remove -k, or fileSize")
	}
	if w.unique {
		refuse("-S", "-S (a shared file) conflicts with uniqueDirectories: remove one of them")
		refuse("-I", "mdtest refuses -I with uniqueDirectories: remove one of them")
	}
	if w.unique && w.depth > 0 {
		refuse("-N", "with -N, mdtest looks for another rank's files in directories that do not exist, because each rank has its own tree: remove -N, uniqueDirectories or depth")
	}
	if _, shared := w.argument("-S"); shared {
		refuse("-c", "conflicts with -S: remove one of them")
	}
	if w.readBytes == 0 {
		refuse("-X", "-X has no data to verify: set fileSize, or remove -X")
		refuse("--verify-read", "--verify-read has no data to verify: set fileSize, or remove --verify-read")
	}
	if each, ok := w.argument("-I"); ok {
		if count, _ := parseCount(each.value); count > 0 && w.items%count != 0 {
			refuse("-I", "must divide filesPerProcess (%d) evenly", w.items)
		}
	} else if len(r.problems) == 0 {
		w.checkShares(r)
	}
}

// checkShares adds an error if the tree has more directories than files. mdtest gives each directory an equal share of
// the files, rounded down, which would then be 0.
func (w *mdtestWorkload) checkShares(r *reader) {
	folders, lowest := w.tree()
	if _, ok := w.argument("-L"); ok {
		folders = lowest
	}
	if uint64(w.items) < folders { // #nosec G115 -- positive
		r.refuse("filesPerProcess", w.items, "must be at least %d, the number of directories among which mdtest "+
			"divides the files: raise it, or lower depth or branching", folders)
	}
}

// tree returns the number of directories in a tree, and the number of directories at its lowest level.
func (w *mdtestWorkload) tree() (all, lowest uint64) {
	all, lowest = 1, 1
	for range w.depth {
		lowest = product(lowest, uint64(w.branching)) // #nosec G115 -- positive
		all += min(lowest, math.MaxUint64-all)
	}
	return all, lowest
}

// MdtestArguments returns the arguments of mdtest for one step, without the program's name. The directory is relative
// to the working directory. mdtest always ends when its work is done, so parameters.Duration and parameters.Limit have
// no effect.
func MdtestArguments(profile *v1alpha1.MdtestProfile, parameters Parameters) ([]string, error) {
	w, problems := readMdtest(field.NewPath("mdtest"), profile)
	if len(problems) > 0 {
		return nil, fmt.Errorf("build the arguments of mdtest: %w", problems.ToAggregate())
	}
	if parameters.Purpose != Measure {
		return nil, fmt.Errorf("build the arguments of mdtest: mdtest creates and removes its own files, so nothing is laid out: remove the prepare phase")
	}
	a := []string{"-n", strconv.FormatInt(w.items, 10)}
	add := func(when bool, arguments ...string) {
		if when {
			a = append(a, arguments...)
		}
	}
	add(w.filesOnly, "-F")
	add(w.directoriesOnly, "-D")
	add(w.fileBytes > 0, "-w", strconv.FormatInt(w.fileBytes, 10))
	add(w.readBytes > 0, "-e", strconv.FormatInt(w.readBytes, 10))
	add(w.depth > 0, "-z", strconv.FormatInt(w.depth, 10))
	add(w.depth > 0 || w.branching > 1, "-b", strconv.FormatInt(w.branching, 10))
	add(w.unique, "-u")
	add(true, "-i", strconv.FormatInt(w.iterations, 10))
	for _, argument := range w.args {
		if argument.since4 && parameters.before4() {
			return nil, fmt.Errorf("build the arguments of mdtest: args: mdtest %s does not support %s: remove it, or use 4.0.0 or later", strings.TrimSpace(parameters.Version), argument.name)
		}
		add(true, argument.words()...)
	}
	add(true, "-d", MdtestDirectory)
	return a, nil
}

// DescribeMdtest describes the load that a valid profile generates on clients with ranksPerClient ranks each.
func DescribeMdtest(profile *v1alpha1.MdtestProfile, clients, ranksPerClient int) (Sizes, error) {
	w, problems := readMdtest(field.NewPath("mdtest"), profile)
	if len(problems) > 0 {
		return Sizes{}, fmt.Errorf("describe an mdtest profile: %w", problems.ToAggregate())
	}
	if err := checkRanks(clients, ranksPerClient); err != nil {
		return Sizes{}, fmt.Errorf("describe an mdtest profile: %w", err)
	}
	sizes := Sizes{Description: engine.Description{
		Reads: !w.directoriesOnly && w.readBytes > 0, Writes: true, Buffered: true, MaxOutstanding: uint64(ranksPerClient), // #nosec G115 -- positive
	}}
	if !w.directoriesOnly {
		files, _ := w.perRank()
		sizes.bytes(product(files, uint64(w.fileBytes)), clients, ranksPerClient) // #nosec G115 -- positive
	}
	sizes.Inodes = w.inodes(uint64(clients * ranksPerClient)) // #nosec G115 -- positive
	switch {
	case w.directoriesOnly:
	case w.fileBytes == 0:
		sizes.Cautions = append(sizes.Cautions, "fileSize is 0: files are created, opened and closed, but no data is read or written")
	case w.readBytes == 0:
		sizes.Cautions = append(sizes.Cautions, "readSize is 0: files are written, and later opened and closed, but no data is read")
	}
	return sizes, nil
}

// inodes returns the maximum number of files and directories that exist at the same time. mdtest removes its
// directories before it creates its files, and removes the files of an iteration before the next iteration. If args
// make mdtest create fewer files, inodes returns 0 (unknown).
func (w *mdtestWorkload) inodes(ranks uint64) uint64 {
	for _, name := range []string{"-S", "-W"} {
		if _, ok := w.argument(name); ok {
			return 0 // -S creates one file for all ranks; -W stops creating files after a given time
		}
	}
	files, folders := w.perRank()
	if w.unique {
		folders = product(folders, ranks)
	}
	files = product(files, ranks)
	return files + min(folders, math.MaxUint64-files)
}

// perRank returns the number of files that a rank creates, and the number of directories that the rank needs. Without
// -I, mdtest divides filesPerProcess among the directories of one tree. With -I N, it creates filesPerProcess/N trees,
// and N files in each of their directories.
func (w *mdtestWorkload) perRank() (files, folders uint64) {
	files = uint64(w.items) // #nosec G115 -- positive
	folders, lowest := w.tree()
	each, ok := w.argument("-I")
	if !ok {
		return files, folders
	}
	used := folders
	if _, leavesOnly := w.argument("-L"); leavesOnly {
		used = lowest
	}
	count, _ := parseCount(each.value)
	return product(files, used), product(folders, files/max(1, uint64(count))) // #nosec G115 -- positive
}

// argument returns the last argument of args with the given name, which is the one that mdtest uses.
func (w *mdtestWorkload) argument(name string) (argument, bool) {
	for _, one := range slices.Backward(w.args) {
		if one.name == name {
			return one, true
		}
	}
	return argument{}, false
}
