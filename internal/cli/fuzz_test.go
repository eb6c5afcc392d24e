package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const (
	sample    = "../../config/samples/quickstart.yaml"
	nowhere   = "testdata/nothing" // contains no kubeconfig, so no call reaches a cluster
	oneResult = "testdata/result-a.json"
)

// places lists all places where the program reads external text. TEXT is replaced by the text, FILE by a file that
// contains it, NAMED by a file with that name, and ARGUMENTS by one argument per line. Standard input contains the text
// too. No call starts a run or writes a file.
var places = [][]string{
	{"xTEXT"},
	{"plan", "--xTEXT"},
	{"plan", "-f", sample, "xTEXT"},
	{"plan", "-f", sample, "-o", "TEXT"},
	{"plan", "-f", sample, "--seed", "TEXT"},
	{"plan", "-f", "NAMED"},
	{"plan", "-f", "FILE"},
	{"plan", "-f", "FILE", "--jobs", "--all"},
	{"plan", "-f", "FILE", "-o", "json"},
	{"plan", "-f", "FILE", "-o", "yaml"},
	{"plan", "-f", "-"},
	{"run", "-f", "FILE", "--kubeconfig", nowhere},
	{"run", "-f", sample, "--kubeconfig", nowhere, "--context", "TEXT", "--namespace", "TEXT"},
	{"run", "-f", sample, "--kubeconfig", nowhere, "--target", "TEXT"},
	{"run", "--storage-class", "TEXT", "--profile", "TEXT", "--kubeconfig", nowhere},
	{"run", "--storage-class", "a", "--size", "TEXT", "--duration", "TEXT", "--kubeconfig", nowhere},
	{"run", "-f", sample, "--local", "--prometheus", "TEXT"},
	{"watch", "xTEXT", "--kubeconfig", nowhere},
	{"rerun", "xTEXT", "--kubeconfig", nowhere},
	{"rerun", "x", "--repeat", "TEXT", "--kubeconfig", nowhere},
	{"cancel", "xTEXT", "--kubeconfig", nowhere},
	{"list", "xTEXT", "--kubeconfig", nowhere},
	{"list", "-o", "TEXT", "--kubeconfig", nowhere},
	{"version", "--kubeconfig", nowhere, "--context", "TEXT"},
	{"init", "xTEXT", "--offline", "--claim", "TEXT"},
	{"init", "--offline", "--storage-class", "TEXT", "--size", "TEXT", "--access-mode", "TEXT"},
	{"init", "--offline", "--claim", "a", "--profile", "TEXT"},
	{"init", "--offline", "--claim", "a", "--duration", "TEXT", "--clients", "TEXT"},
	{"report", "xTEXT", "--kubeconfig", nowhere},
	{"report", "NAMED"},
	{"report", "FILE"},
	{"report", "FILE", "-o", "json"},
	{"report", "FILE", "-o", "csv"},
	{"report", "FILE", "-o", "markdown"},
	{"report", "FILE", "-o", "html"},
	{"compare", oneResult, "FILE"},
	{"compare", "FILE", "FILE"},
	{"compare", oneResult, "FILE", "-o", "html"},
	{"compare", oneResult + ":TEXT", oneResult},
	{"merge", "FILE"},
	{"merge", "NAMED"},
	{"parse", "xTEXT", "FILE"},
	{"parse", "fio", "FILE"},
	{"parse", "ior", "FILE"},
	{"parse", "mdtest", "FILE"},
	{"analyze", "burst", "NAMED"},
	{"analyze", "burst", "FILE"},
	{"analyze", "steady", "-", "-o", "TEXT"},
	{"analyze", "knee", "-"},
	{"convert", "fio", "-f", "FILE"},
	{"convert", "fio", "--", "ARGUMENTS"},
	{"convert", "diskspd", "--", "ARGUMENTS"},
	{"convert", "ior", "--", "ARGUMENTS"},
	{"convert", "mdtest", "--", "ARGUMENTS"},
	{"profiles", "xTEXT"},
	{"completion", "xTEXT"},
	{"__complete", "report", "--kubeconfig", nowhere, "xTEXT"},
}

// TestPlacesNameEveryVerb checks that places covers every verb, so that new verbs are fuzzed too.
func TestPlacesNameEveryVerb(t *testing.T) {
	verbs := call("", "__complete", "").stdout
	if !strings.Contains(verbs, "report\t") {
		t.Fatalf("the verbs are unknown: %s", verbs)
	}
	for line := range strings.Lines(verbs) {
		verb, _, found := strings.Cut(line, "\t")
		if found && verb != "help" && !slices.ContainsFunc(places, func(place []string) bool { return place[0] == verb }) {
			t.Errorf("no place of FuzzInputs is in %s", verb)
		}
	}
}

// FuzzInputs passes a text to each place. The program must not panic, and must not print characters that control the
// terminal or that hide or reorder text.
func FuzzInputs(f *testing.F) {
	const all = "\x1b[2J\x1b]0;title\x07\r\x08\x7f\u0085\u009b31m\xff\x9b\u202e\u2066\u200b"
	short := []string{all, "a\x00b", "-" + all + "\nverdict: good"}
	files := []string{
		"apiVersion: storagebench.dev/v1alpha1\nkind: StorageBenchmark\nmetadata: {name: \"\\e[2J\", \"\\x9b\": \"\\u202e\"}\nspec: {\"\\e]0;\\a\": 1}\n",
		`{"schemaVersion":1,"benchmark":"b\u001b[2J","run":"r\u009b","stage":"\u202e","warnings":[{"severity":"\u007f"}],"phases":[{"name":"p\u0007","targets":[{"target":"t\u001b"}]}]}`,
		"seconds,bytes_per_second\n0,5\n1,\x1b[2J\n", "[global]\nrw=\x1b[2J\n[\x9b]\n", "-b4k\n-w\x1b[2J\n"}
	for _, name := range []string{sample, "../../config/samples/jobfile.yaml", oneResult} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, strings.ReplaceAll(string(text), "quickstart", `"\x1b[2J\u202e"`))
	}
	for place, arguments := range places {
		texts := short
		if slices.Contains(arguments, "FILE") || slices.Contains(arguments, "-") {
			texts = slices.Concat(short[:1], files)
		}
		for _, text := range texts {
			f.Add(uint(place), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, place uint, text []byte) {
		arguments := fill(t, places[place%uint(len(places))], string(text))
		got := call(string(text), arguments...)
		for name, output := range map[string]string{"standard output": got.stdout, "standard error": got.stderr} {
			if at := strings.IndexFunc(output, func(r rune) bool {
				return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || unicode.In(r, unicode.Cc, unicode.Cf) && r > 0x7f
			}); at >= 0 || !utf8.ValidString(output) {
				t.Errorf("%q: %s is not plain text from %d: %q", arguments, name, at, output)
			}
		}
	})
}

func fill(t *testing.T, place []string, text string) []string {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// The directory is missing, so the file does not exist.
	named := filepath.Join(folder, "none", strings.ReplaceAll(text[:min(len(text), 200)], "/", "_"))
	if at := slices.Index(place, "ARGUMENTS"); at >= 0 {
		return slices.Concat(place[:at], strings.Split(text, "\n"))
	}
	filled := make([]string, len(place))
	replace := strings.NewReplacer("TEXT", text, "FILE", file, "NAMED", named)
	for i, one := range place {
		filled[i] = replace.Replace(one)
	}
	return filled
}
