package ior

import (
	"fmt"
	"strconv"
	"strings"
)

// option describes an option that users may set in args.
type option struct {
	// least and most are the minimum and the maximum of an option whose value is a whole number. If most is 0 and words
	// is empty, the option is a flag.
	least, most int64
	// isSize is true if the value is a number of bytes, which may have the suffix k, m or g.
	isSize bool
	// words are the possible values if the value is not a number.
	words []string
	// times is the maximum number of times that the option may be given; 0 counts as 1.
	times int
	// directive is true for an option that is written as "-O name=value".
	directive bool
	// since4 is true if the option exists in 4.0.0 and later, but not in 3.3.0.
	since4 bool
}

// options describes the options of one tool: which of them users may set, and why others are refused.
type options struct {
	tool    string
	allowed map[string]option
	// fields maps options to the fields of the profile that set them.
	fields map[string]string
	// refused maps well-known options to the reason for refusing them. Options that are in none of the three maps are
	// refused too.
	refused map[string]string
}

const (
	whyPath    = "storagebench chooses the file names below the target's path"
	whyCommand = "benchmarks may not run commands on nodes"
	whyRanks   = "the number of ranks is clients.count times processesPerClient"
	whyOurs    = "storagebench sets it"
	whyNode    = "it uses up the node's memory"
	whyForm    = "it changes the format of the results"
	whyTarget  = "the target's field lustre sets the striping"
	whyNothing = "it reports figures without doing any I/O"
	whyParts   = "a step runs all of mdtest's phases, because some need files that others create"
)

var iorOptions = options{
	tool: "IOR",
	allowed: map[string]option{
		"-v": {times: 2}, "-x": {}, "-Y": {},
		"-d": {most: 86_400}, "-j": {most: 86_400}, "-Q": {least: 1, most: 1 << 20}, "-X": {most: 1 << 30}, "-A": {most: 1 << 30},
		"--random-offset-seed": {most: 1 << 30, since4: true}, "--randomPrefill": {least: 8, most: 1 << 40, isSize: true, since4: true},
		"--posix.rangelocks": {since4: true}, "--mpiio.useFileView": {since4: true}, "--mpiio.preallocate": {since4: true},
		"--mpiio.useStridedDatatype": {since4: true},
		"interIODelay":               {directive: true, most: 1 << 30},
	},
	fields: map[string]string{
		"-a": "api", "-t": "transferSize", "-b": "blockSize", "-s": "segments", "-F": "filePerProcess", "-w": "operations", "-r": "operations",
		"-c": "collective", "--collective": "collective", "-z": "random", "--posix.odirect": "direct", "-B": "direct", "-e": "fsync",
		"-C": "reorderTasks", "-Z": "reorderTasks", "-g": "intraTestBarriers", "-i": "repetitions", "-D": "stonewall", "-k": "keepFiles",
		"-E": "useExistingFiles", "-W": "verify", "-R": "verify", "-G": "verify", "-l": "dataPattern", "--dataPacketType": "dataPattern",
		"stoneWallingWearOut": "stonewallWearOut", "api": "api", "transferSize": "transferSize", "blockSize": "blockSize", "segmentCount": "segments",
	},
	refused: map[string]string{
		"-o": whyPath, "-f": whyPath, "-U": whyPath, "--mpiio.hintsFileName": whyPath, "testFile": whyPath, "summaryFile": whyPath,
		"stoneWallingStatusFile": whyPath, "saveRankPerformanceDetailsCSV": whyPath, "savePerOpDataCSV": whyPath, "hintsFileName": whyPath,
		"-N": whyRanks, "numTasks": whyRanks, "-M": whyNode, "memoryPerNode": whyNode, "memoryPerTask": whyNode, "summaryFormat": whyForm,
		"-T": whyOurs + " from the phase", "maxTimeDuration": whyOurs + " from the phase", "minTimeDuration": whyOurs + " from the phase",
		"--posix.lustre.stripecount": whyTarget, "--posix.lustre.stripesize": whyTarget, "--posix.lustre.startost": whyTarget, "--posix.lustre.pool": whyTarget,
		"--dryRun": whyNothing, "dryRun": whyNothing, "-m": whyPath, "-u": whyPath, "-y": whyPath, "-H": whyForm, "--mpiio.showHints": whyForm, "--warningAsErrors": "it would turn the stonewall's warning into a failure",
		"-K": "keepFiles determines whether the files are kept",
	},
}

var mdtestOptions = options{
	tool: "mdtest",
	allowed: map[string]option{
		"-v": {times: 2}, "-L": {}, "-R": {}, "-t": {}, "-y": {}, "-Y": {}, "-k": {}, "-c": {}, "-S": {}, "-X": {}, "--verify-read": {since4: true}, "--verify-write": {since4: true},
		"-I": {least: 1, most: 100_000_000}, "-N": {most: 1 << 20}, "-p": {most: 86_400}, "-W": {least: 1, most: 604_800}, "-G": {most: 1 << 30, since4: true},
		"--random-seed": {most: 1 << 30}, "--showRankStatistics": {since4: true},
		"--dataPacketType": {words: []string{"timestamp", "offset", "incompressible", "random"}, since4: true},
	},
	fields: map[string]string{
		"-n": "filesPerProcess", "-u": "uniqueDirectories", "-F": "filesOnly", "-D": "directoriesOnly", "-w": "fileSize", "-e": "readSize",
		"-z": "depth", "-b": "branching", "-i": "iterations",
	},
	refused: map[string]string{
		"-d": whyPath, "-x": whyPath, "--saveRankPerformanceDetails": whyPath, "--savePerOpDataCSV": whyPath,
		"--run-cmd-before-phase": whyCommand, "--run-cmd-after-phase": whyCommand, "-a": "only POSIX is supported", "-g": whyTarget,
		"-f": whyRanks, "-l": whyRanks, "-s": whyRanks, "-P": whyForm, "-Z": whyForm, "-V": whyForm, "--print-all-procs": whyForm,
		"-C": whyParts, "-T": whyParts, "-E": whyParts, "-r": whyParts, "-B": "without barriers the phases overlap, so their rates are meaningless",
		"-U": "only version 4.1.0 supports it, but profiles must work with versions 3.3.0 to 4.1.0",
	},
}

// argument is a validated option. It is written to the command line in canonical form, never as the user wrote it.
type argument struct {
	name, value string
	directive   bool
	since4      bool
}

func (a argument) words() []string {
	switch {
	case a.directive:
		return []string{"-O", a.name + "=" + a.value}
	case a.value == "":
		return []string{a.name}
	case strings.HasPrefix(a.name, "--"):
		return []string{a.name + "=" + a.value}
	}
	return []string{a.name, a.value}
}

// arguments parses the field args of a profile. It accepts the same forms as the tools: "-d", "5"; "-d=5"; "-d 5";
// "-O", "name=value"; "--name=value".
func (r *reader) arguments(field string, given []string, known options) []argument {
	var all []argument
	counts := map[string]int{}
	for i := 0; i < len(given); i++ {
		text := given[i]
		name, value, hasValue := splitArgument(text)
		if name == "-O" {
			if !hasValue && i+1 < len(given) {
				i++
				value = given[i]
			}
			for directive := range strings.SplitSeq(value, ",") {
				key, set, _ := strings.Cut(directive, "=")
				r.argument(field, known, strings.TrimSpace(key), strings.TrimSpace(set), true, counts, &all)
			}
			continue
		}
		if allowed, ok := known.allowed[name]; ok && !hasValue && !allowed.flag() && i+1 < len(given) {
			i++
			value = given[i]
		}
		r.argument(field, known, name, strings.TrimSpace(value), false, counts, &all)
	}
	return all
}

func splitArgument(text string) (string, string, bool) {
	text = strings.TrimSpace(text)
	if at := strings.IndexAny(text, "= "); at > 0 {
		return text[:at], strings.TrimSpace(text[at+1:]), true
	}
	return text, "", false
}

func (o option) flag() bool { return o.most == 0 && o.words == nil }

func (r *reader) argument(field string, known options, name, value string, directive bool, counts map[string]int, all *[]argument) {
	allowed, ok := known.allowed[name]
	if !ok || allowed.directive != directive {
		r.refuse(field, clip(name), "%s", known.why(name, directive))
		return
	}
	counts[name]++
	if most := max(allowed.times, 1); counts[name] > most {
		r.refuse(field, name, "may be used at most %d times", most)
		return
	}
	written, err := allowed.value(value)
	if err != nil {
		r.refuse(field, clip(name+" "+value), "%v", err)
		return
	}
	*all = append(*all, argument{name: name, value: written, directive: directive, since4: allowed.since4})
}

// why returns the reason for refusing an option, with the remedy.
func (o *options) why(name string, directive bool) string {
	if set, ok := lookUp(o.fields, name, directive); ok {
		return fmt.Sprintf("set %s in the profile instead", set)
	}
	if why, ok := lookUp(o.refused, name, directive); ok {
		return why + ": remove it"
	}
	return fmt.Sprintf("it is not on the list of allowed options of %s: remove it", o.tool)
}

// lookUp returns the text for an option. Like IOR, it ignores the case of a directive's name.
func lookUp(texts map[string]string, name string, directive bool) (string, bool) {
	if text, ok := texts[name]; ok || !directive {
		return text, ok
	}
	for known, text := range texts {
		if strings.EqualFold(known, name) {
			return text, true
		}
	}
	return "", false
}

// value checks an option's value and returns it as it is written to the command line.
func (o option) value(text string) (string, error) {
	if o.flag() {
		if text != "" {
			return "", fmt.Errorf("it takes no value: remove %q", clip(text))
		}
		return "", nil
	}
	if o.words != nil {
		for _, word := range o.words {
			if text == word {
				return word, nil
			}
		}
		return "", fmt.Errorf("use one of %s", strings.Join(o.words, ", "))
	}
	factor := int64(1)
	if o.isSize && text != "" {
		switch text[len(text)-1] {
		case 'k':
			factor = 1 << 10
		case 'm':
			factor = 1 << 20
		case 'g':
			factor = 1 << 30
		}
		if factor > 1 {
			text = text[:len(text)-1]
		}
	}
	count, ok := parseCount(text)
	if !ok || count > o.most/factor || count*factor < o.least {
		return "", fmt.Errorf("use a whole number from %d to %d", o.least, o.most)
	}
	return strconv.FormatInt(count*factor, 10), nil
}
