package cli_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/cli"
	"github.com/storagebench/storagebench/test/golden"
)

// formsOfVerbs returns the formats that -o accepts for each verb, according to the generated reference.
func formsOfVerbs(t *testing.T) map[string][]string {
	t.Helper()
	var reference bytes.Buffer
	if err := cli.Reference(&reference); err != nil {
		t.Fatal(err)
	}
	forms := map[string][]string{}
	output := regexp.MustCompile("(?m)^\\| `-o, --output` \\| ([^|]*) \\|")
	for _, section := range strings.Split(reference.String(), "\n## kubectl storagebench ")[1:] {
		verb, _, _ := strings.Cut(section, "\n")
		if found := output.FindStringSubmatch(section); found != nil {
			forms[verb] = strings.FieldsFunc(strings.ReplaceAll(found[1], " or ", ","), func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	return forms
}

// TestEveryForm checks every output format of every verb against a golden file. A new verb needs an example here.
func TestEveryForm(t *testing.T) {
	const run = "../engine/fio/testdata/runs/write.stdout"
	examples := map[string]struct {
		input     string
		arguments []string
	}{
		"plan":           {"", []string{"-f", "../../config/samples/quickstart.yaml"}},
		"init":           {"", []string{"--claim", "data", "--clients", "2"}},
		"report":         {"", []string{"testdata/result-a.json"}},
		"compare":        {"", []string{"testdata/result-a.json", "testdata/result-b.json"}},
		"convert":        {"", []string{"ior", "--", "ior", "-w", "-t1m", "-b16m", "-F"}},
		"merge":          {"", []string{run, run}},
		"parse":          {"", []string{"fio", run}},
		"analyze burst":  {drain(), []string{"-"}},
		"analyze steady": {level(360), []string{"-"}},
		"analyze knee":   {ramp, []string{"-"}},
		"profiles":       {"", nil},
	}
	all := formsOfVerbs(t)
	for _, verb := range []string{"run", "watch", "rerun", "cancel"} {
		// These verbs print the same result as report; test/local and test/e2e compare them.
		if strings.Join(all[verb], " ") != strings.Join(all["report"], " ") {
			t.Errorf("%s has the forms %v, and report %v", verb, all[verb], all["report"])
		}
		delete(all, verb)
	}
	for _, verb := range []string{"list", "version"} { // test/integration covers them with a cluster
		delete(all, verb)
	}
	if len(all) < 10 {
		t.Errorf("the reference has %d verbs with forms: %v", len(all), all)
	}
	for verb, forms := range all {
		example, found := examples[verb]
		if !found {
			t.Errorf("%s has the forms %v, and no example", verb, forms)
			continue
		}
		for _, form := range forms {
			if form == "html" {
				continue // too large for a readable golden file; internal/report and test/browser cover it
			}
			t.Run(verb+"/"+form, func(t *testing.T) {
				arguments := append(append(strings.Fields(verb), example.arguments[:split(example.arguments)]...), "-o", form)
				got := call(example.input, append(arguments, example.arguments[split(example.arguments):]...)...)
				if got.code != 0 || got.stdout == "" {
					t.Errorf("%s", got)
				}
				if verb == "profiles" {
					return // it lists the profiles of the library, which have tests of their own
				}
				golden.Check(t, "form-"+strings.ReplaceAll(verb, " ", "-")+"-"+form, got.String())
			})
		}
	}
}

// split returns the index of "--", after which the command line of another tool follows, or the number of arguments.
func split(arguments []string) int {
	for i, one := range arguments {
		if one == "--" {
			return i
		}
	}
	return len(arguments)
}
