package mpi

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Limits on a daemon's command line. One argument may contain the names of hundreds of hosts.
const (
	maxDaemonWords = 128
	maxDaemonBytes = 256 << 10
)

var (
	number  = regexp.MustCompile(`^[0-9]{1,20}$`)
	yes     = regexp.MustCompile(`^1$`)
	address = `tcp6?://[0-9a-fA-F.,:\[\]]+`
)

// daemonSettings maps each parameter that a daemon's command line may set to the pattern of its values. It contains all
// parameters that Open MPI 4.1 and 5.0 pass for storagebench jobs. All others are refused, because MPI parameters can
// name libraries to load (mca_base_component_path, *_prefix), programs to run (plm_*_agent, orte_fork_agent, *_exec,
// *_wrapper, debuggers), and files to read and write.
var daemonSettings = map[string]*regexp.Regexp{
	// Parameters that identify the daemon within the job.
	"ess":                 regexp.MustCompile(`^env$`),
	"ess_base_jobid":      number,
	"ess_base_vpid":       number,
	"ess_base_num_procs":  number,
	"ess_base_nspace":     regexp.MustCompile(`^[A-Za-z0-9@._-]{1,256}$`),
	"orte_node_regex":     regexp.MustCompile(`^[A-Za-z0-9.,:\[\]@()_-]+$`),
	"orte_hnp_uri":        regexp.MustCompile(`^[0-9]+\.0(;` + address + `)+$`),
	"prte_hnp_uri":        regexp.MustCompile(`^[A-Za-z0-9@._-]+(;` + address + `)+$`),
	"PREFIXES":            regexp.MustCompile(`^[a-z0-9_,]+$`),
	"pmix_session_server": yes,
	"pmix":                regexp.MustCompile(`^\^[a-z0-9,]{1,64}$`),
	"plm":                 regexp.MustCompile(`^(rsh|ssh)$`),
	// Parameters that the agent sets on mpirun's command line.
	"orte_leave_session_attached":     yes,
	"orte_keep_fqdn_hostnames":        yes,
	"plm_rsh_no_tree_spawn":           yes,
	"plm_ssh_no_tree_spawn":           yes,
	"rmaps_base_oversubscribe":        yes,
	"rmaps_base_mapping_policy":       regexp.MustCompile(`^slot(:OVERSUBSCRIBE)?$`),
	"hwloc_base_binding_policy":       regexp.MustCompile(`^none$`),
	"mpi_yield_when_idle":             yes,
	"oob_tcp_if_include":              regexp.MustCompile(`^[A-Za-z0-9./_-]{1,64}$`),
	"btl_tcp_if_include":              regexp.MustCompile(`^[A-Za-z0-9./_-]{1,64}$`),
	"prte_if_include":                 regexp.MustCompile(`^[A-Za-z0-9./_-]{1,64}$`),
	"pml":                             regexp.MustCompile(`^ob1$`),
	"btl":                             regexp.MustCompile(`^[a-z,]{1,32}$`),
	"smsc":                            regexp.MustCompile(`^\^[a-z,]{1,32}$`),
	"btl_vader_single_copy_mechanism": regexp.MustCompile(`^none$`),
}

// daemons are the names of the programs that may be launched: the daemons of Open MPI 4 and 5. They are looked up in
// PATH.
var daemons = []string{"orted", "prted"}

// settingFlags are the flags that precede a parameter's name.
var settingFlags = []string{"-mca", "--mca", "--prtemca"}

// checkDaemon returns an error unless the command is MPI's daemon with the arguments that MPI passes to it.
func checkDaemon(command []string) error {
	if len(command) == 0 || !slices.Contains(daemons, command[0]) {
		return fmt.Errorf("only %s may be launched, by name without a path: got %q", strings.Join(daemons, " and "), first(command))
	}
	bytes := 0
	for _, word := range command {
		bytes += len(word)
	}
	if len(command) > maxDaemonWords || bytes > maxDaemonBytes {
		return fmt.Errorf("the command is too long for an MPI daemon: %d arguments, %d bytes", len(command), bytes)
	}
	seen := map[string]bool{}
	for rest := command[1:]; len(rest) > 0; {
		switch rest[0] {
		case "--leave-session-attached":
			seen["orte_leave_session_attached"] = true
			rest = rest[1:]
			continue
		case "--allow-run-as-root":
			// The agent allows mpirun to run as root, and mpirun passes --allow-run-as-root to its daemons.
			rest = rest[1:]
			continue
		}
		if !slices.Contains(settingFlags, rest[0]) || len(rest) < 3 {
			return fmt.Errorf("unexpected argument %q of %s: MPI does not pass it in storagebench jobs",
				clip(rest[0]), command[0])
		}
		form := daemonSettings[rest[1]]
		if form == nil {
			return fmt.Errorf("unexpected parameter %q of %s: MPI does not pass it in storagebench jobs",
				clip(rest[1]), command[0])
		}
		if !form.MatchString(rest[2]) {
			return fmt.Errorf("parameter %s of %s has the invalid value %q", rest[1], command[0], clip(rest[2]))
		}
		seen[rest[1]] = true
		rest = rest[3:]
	}
	if !seen["orte_leave_session_attached"] {
		return fmt.Errorf("%s would detach from its caller: set its parameter orte_leave_session_attached", command[0])
	}
	return nil
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return clip(words[0])
}

// clip shortens untrusted text and makes it valid UTF-8.
func clip(text string) string {
	const most = 80
	text = strings.ToValidUTF8(text, "?")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// plainCommand extracts a daemon's command from the shell command line that MPI would run on the other host. That line
// may set environment variables or source a profile first, quote values, and put many words into one argument. Open MPI
// 5 passes the daemon's path on this host; only the base name is kept, because the path may differ on the other host.
// Launch agent settings are removed, because the daemon does not need them. The result is nil if the words contain no
// daemon.
func plainCommand(words []string) []string {
	plain := shellWords(strings.Join(words, " "))
	at := slices.IndexFunc(plain, func(word string) bool {
		return slices.Contains(daemons, word[strings.LastIndexAny(word, ";/")+1:])
	})
	if at < 0 {
		return nil
	}
	plain = plain[at:]
	plain[0] = plain[0][strings.LastIndexAny(plain[0], ";/")+1:]
	if plain[len(plain)-1] == ")" {
		plain = plain[:len(plain)-1]
	}
	for i := 1; i+2 < len(plain); {
		if slices.Contains(settingFlags, plain[i]) && (plain[i+1] == "plm_rsh_agent" || plain[i+1] == "plm_ssh_agent") {
			plain = slices.Delete(plain, i, i+3)
			continue
		}
		i++
	}
	return plain
}

// shellWords splits text at blanks outside quotes and removes the quotes. It expands nothing.
func shellWords(text string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	inside := false
	for _, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inside = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(c)
			inside = true
		}
	}
	if inside {
		words = append(words, word.String())
	}
	return words
}
