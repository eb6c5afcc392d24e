package mpi

import (
	"slices"
	"strings"
	"testing"
)

// These are command lines of daemons that Open MPI 4.1.4 of Debian and 5.0.11 of PyPI printed for our own jobs.
var (
	given4 = []string{
		" orted", "-mca", "orte_leave_session_attached", `"1"`, "-mca", "ess", `"env"`, "-mca", "ess_base_jobid", `"25296896"`,
		"-mca", "ess_base_vpid", "1", "-mca", "ess_base_num_procs", `"3"`, "-mca", "orte_node_regex", `"vm,[3:127].0.1.1,[3:127].0.1.2@0(3)"`,
		"-mca", "orte_hnp_uri", `"25296896.0;tcp://10.0.0.1,10.219.255.1:54171;tcp6://[fd00::2]:43043"`,
		"--mca", "plm_rsh_no_tree_spawn", `"1"`, "--mca", "orte_keep_fqdn_hostnames", `"1"`, "--mca", "oob_tcp_if_include", `"10.244.0.0/22"`,
		"--mca", "btl_tcp_if_include", `"10.244.0.0/22"`, "--mca", "pml", `"ob1"`, "--mca", "mpi_yield_when_idle", `"1"`, "--mca", "btl", `"self,vader,tcp"`,
		"--mca", "btl_vader_single_copy_mechanism", `"none"`, "-mca", "plm", `"rsh"`, "-mca", "rmaps_base_oversubscribe", `"1"`,
		"-mca", "hwloc_base_binding_policy", `"none"`, "-mca", "pmix", `"^s1,s2,cray,isolated"`,
	}
	given5 = []string{
		"PRTE_PREFIX=/opt/ompi;export PRTE_PREFIX;LD_LIBRARY_PATH=/opt/ompi/lib:$LD_LIBRARY_PATH;export LD_LIBRARY_PATH;/opt/ompi/bin/prted",
		"--leave-session-attached", "--allow-run-as-root", "--prtemca", "ess", `"env"`, "--prtemca", "ess_base_nspace", `"prterun-vm-29368@0"`,
		"--prtemca", "ess_base_vpid", "2", "--prtemca", "ess_base_num_procs", `"3"`,
		"--prtemca", "prte_hnp_uri", `"prterun-vm-29368@0.0;tcp://10.0.0.1,10.219.255.1:44327:64,24,30;tcp6://[fd00::2]:35171:64,24,30"`,
		"--prtemca", "plm_ssh_agent", `"/bin/agent launch"`, "--prtemca", "plm_ssh_no_tree_spawn", `"1"`,
		"--prtemca", "PREFIXES", `"errmgr,ess,filem,grpcomm,iof,odls,oob,plm,prtebacktrace,reachable"`,
		"--prtemca", "prte_if_include", `"eth0"`, "--prtemca", "pmix_session_server", `"1"`, "--prtemca", "plm", `"ssh"`,
	}
)

func TestDaemonsThatMPIGives(t *testing.T) {
	t.Parallel()
	for name, given := range map[string][]string{"orted": given4, "prted": given5} {
		plain := plainCommand(given)
		if plain[0] != name {
			t.Errorf("%s became %q", name, plain[0])
		}
		if err := checkDaemon(plain); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if slices.ContainsFunc(plain, func(word string) bool { return strings.Contains(word, "launch") || strings.Contains(word, `"`) }) {
			t.Errorf("%s: %q", name, plain)
		}
	}
}

// TestPlainCommand checks that all forms in which MPI writes the command for a shell yield the same command.
func TestPlainCommand(t *testing.T) {
	t.Parallel()
	want := plainCommand(given4)
	joined := strings.Join(given4, " ")
	for name, given := range map[string][]string{
		"one word":  {joined},
		"two words": {" orted", strings.TrimSpace(strings.TrimPrefix(joined, " orted"))},
		"a profile": {"( test ! -r ./.profile || . ./.profile;  orted", strings.TrimPrefix(joined, " orted"), ")"},
		"a path":    {"PATH=/x/bin:$PATH ; export PATH ; LD_LIBRARY_PATH=/x/lib ; export LD_LIBRARY_PATH ;   /x/bin/orted" + strings.TrimPrefix(joined, " orted")},
	} {
		if got := plainCommand(given); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for _, none := range [][]string{{}, {""}, {"true"}, {"orted2", "x"}, {"(", ")"}} {
		if got := plainCommand(none); len(got) > 0 {
			t.Errorf("%q became %q", none, got)
		}
	}
}

func with(words ...string) []string {
	return append(plainCommand(given4), words...)
}

func TestDaemonRefusesAllElse(t *testing.T) {
	t.Parallel()
	good := plainCommand(given4)
	set := func(name, value string) []string { return with("-mca", name, value) }
	for name, command := range map[string][]string{
		"nothing":             {},
		"another program":     {"sh", "-c", "true"},
		"a path":              append([]string{"/tmp/orted"}, good[1:]...),
		"a relative path":     append([]string{"./orted"}, good[1:]...),
		"a name that begins":  append([]string{"orted2"}, good[1:]...),
		"shell text":          append([]string{"orted;true"}, good[1:]...),
		"an assignment":       append([]string{"A=b", "orted"}, good[1:]...),
		"env":                 append([]string{"env", "orted"}, good[1:]...),
		"daemonize":           with("--daemonize"),
		"prefix":              with("--prefix", "/tmp"),
		"tree spawn":          with("--tree-spawn"),
		"set by a file":       with("--am", "/tmp/params"),
		"tune":                with("-tune", "/tmp/params"),
		"a word":              with("true"),
		"half a setting":      with("-mca", "ess"),
		"debug":               with("--debug-daemons"),
		"component path":      set("mca_base_component_path", "/tmp"),
		"parameter files":     set("mca_base_param_files", "/tmp/x"),
		"envar file":          set("mca_base_env_list", "LD_PRELOAD=/tmp/x.so"),
		"rsh agent":           set("plm_rsh_agent", "/tmp/x"),
		"ssh agent":           with("--prtemca", "plm_ssh_agent", "/tmp/x"),
		"fork agent":          set("orte_fork_agent", "/tmp/x"),
		"launch agent":        set("orte_launch_agent", "/tmp/x"),
		"debugger":            set("orte_base_user_debugger", "/tmp/x"),
		"exec":                set("odls_base_exec", "/tmp/x"),
		"wrapper":             set("filem_raw_wrapper", "/tmp/x"),
		"xterm":               set("orte_xterm", "1"),
		"output":              set("orte_output_filename", "/tmp/x"),
		"session directory":   set("orte_tmpdir_base", "/tmp/x"),
		"pmix mca":            with("--pmixmca", "mca_base_component_path", "/tmp"),
		"a component as path": set("btl", "/tmp/x"),
		"another ess":         set("ess", "tool"),
		"another plm":         set("plm", "slurm"),
		"a component of pmix": set("pmix", "ext3x"),
		"shell in a uri":      set("orte_hnp_uri", "1.0;tcp://1.2.3.4:5;$(true)"),
		"a file as uri":       set("orte_hnp_uri", "file:/tmp/x"),
		"shell in a regex":    set("orte_node_regex", "a;b"),
		"a newline":           set("ess_base_vpid", "1\n2"),
		"a wrong number":      set("ess_base_vpid", "-1"),
		"too long":            set("orte_node_regex", strings.Repeat("a", maxDaemonBytes)),
		"too many":            with(slices.Repeat([]string{"-mca", "ess", "env"}, maxDaemonWords)...),
		"that leaves":         append([]string{"orted"}, good[4:]...),
	} {
		if err := checkDaemon(command); err == nil {
			t.Errorf("%s: %q is let through", name, command)
		} else if len(err.Error()) > 400 {
			t.Errorf("%s: a message of %d bytes", name, len(err.Error()))
		}
	}
}

func FuzzCheckDaemon(f *testing.F) {
	f.Add(strings.Join(plainCommand(given4), "\x00"))
	f.Add(strings.Join(plainCommand(given5), "\x00"))
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Split(text, "\x00")
		if checkDaemon(words) != nil {
			return
		}
		for _, word := range words {
			// No argument of a daemon contains a blank, a quote or a variable.
			if strings.ContainsAny(word, " \t\n\r'\"`$<>|&\\*?~=") || strings.Contains(word, "../") {
				t.Errorf("%q is let through in %q", word, words)
			}
		}
	})
}
