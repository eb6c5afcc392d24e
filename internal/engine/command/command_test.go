package command

import (
	"math"
	"slices"
	"strings"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	values := Values{Data: "/mnt/$(CLIENT)", Client: 3, Agent: "/sb/agent"}
	for word, want := range map[string]string{
		"plain":             "plain",
		"":                  "",
		"$(DATA)/a b":       "/mnt/$(CLIENT)/a b", // inserted text is not expanded again
		"x$(CLIENT)y":       "x3y",
		"$(CLIENT)$(AGENT)": "3/sb/agent",
		"$$(DATA)":          "$(DATA)",
		"$HOME `id` $((1":   "",
		"a;b|c":             "a;b|c",
		"$(HOME)":           "",
		"$(DATA":            "",
	} {
		got, err := Expand([]string{word}, values)
		if failed := want == "" && word != ""; failed != (err != nil) {
			t.Errorf("%q: %q, %v", word, got, err)
			continue
		}
		if err == nil && got[0] != want {
			t.Errorf("%q: %q, want %q", word, got[0], want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	size, none := resource.MustParse("1Gi"), resource.MustParse("0")
	good := v1alpha1.CommandProfile{Command: []string{"zip", "$(DATA)/a.zip"}, Setup: []string{"$(AGENT)", "files"}, WorkingDirectory: "a/b", DatasetSize: &size,
		SuccessExitCodes: []int32{0, 1}}
	if problems := Validate(field.NewPath("p"), &good); len(problems) > 0 {
		t.Error(problems)
	}
	for want, change := range map[string]func(*v1alpha1.CommandProfile){
		`p.command: Required value`:        func(p *v1alpha1.CommandProfile) { p.Command = nil },
		`p.command[0]: Invalid value: " "`: func(p *v1alpha1.CommandProfile) { p.Command[0] = " " },
		`p.command[1]: Invalid value: "$(HOST)/x": $(HOST) is not defined: use $(DATA), $(CLIENT), $(AGENT)`: func(p *v1alpha1.CommandProfile) { p.Command[1] = "$(HOST)/x" },
		`p.setup[1]: Invalid value: "a\x00"`:        func(p *v1alpha1.CommandProfile) { p.Setup[1] = "a\x00" },
		`p.workingDirectory: Invalid value: "../x"`: func(p *v1alpha1.CommandProfile) { p.WorkingDirectory = "../x" },
		`p.workingDirectory: Invalid value: "/x"`:   func(p *v1alpha1.CommandProfile) { p.WorkingDirectory = "/x" },
		`p.datasetSize: Invalid value: "0"`:         func(p *v1alpha1.CommandProfile) { p.DatasetSize = &none },
		`p.successExitCodes[0]: Invalid value: 256`: func(p *v1alpha1.CommandProfile) { p.SuccessExitCodes[0] = 256 },
	} {
		changed := *good.DeepCopy()
		change(&changed)
		problems := Validate(field.NewPath("p"), &changed)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) {
			t.Errorf("%v, want %s", problems, want)
		}
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		exit  Exit
		codes []int32
		code  int
		good  bool
	}{
		{Exit{}, nil, 0, true},
		{Exit{Code: 1}, nil, 1, false},
		{Exit{Code: 1}, []int32{0, 1}, 1, true},
		{Exit{}, []int32{1}, 0, false},
		{Exit{Signal: syscall.SIGKILL}, []int32{137}, 137, false},
	} {
		if c.exit.Succeeded(c.codes) != c.good || c.exit.ExitCode() != c.code {
			t.Errorf("%+v with %v: %t, %d", c.exit, c.codes, c.exit.Succeeded(c.codes), c.exit.ExitCode())
		}
	}
	if got := Cause("zip error: Output file write failure (write error): No space left on device", "CommandFailed"); got != "NoSpace" {
		t.Error(got)
	}
	if got := Cause("something", "CommandFailed"); got != "CommandFailed" {
		t.Error(got)
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	const mb = 1_000_000
	calls := Count{Source: v1alpha1.SourceCalls, ReadBytes: 100 * mb, WriteBytes: 50 * mb}
	storage := Count{Source: v1alpha1.SourceStorage, ReadBytes: 98 * mb, WriteBytes: 50 * mb}
	mount := Count{Source: v1alpha1.SourceMount, ReadBytes: 80 * mb, WriteBytes: 50 * mb}
	for name, c := range map[string]struct {
		counts []Count
		source v1alpha1.CommandSource
		share  float64
		other  v1alpha1.CommandSource
	}{
		"one alone":             {[]Count{calls}, v1alpha1.SourceCalls, 0, ""},
		"two that agree":        {[]Count{calls, storage}, v1alpha1.SourceStorage, 0.02, v1alpha1.SourceCalls},
		"the mount is believed": {[]Count{calls, mount, storage}, v1alpha1.SourceMount, 0.2, v1alpha1.SourceCalls},
		"direct reads by SMB": {[]Count{{Source: v1alpha1.SourceMount, ReadBytes: 100 * mb}, {Source: v1alpha1.SourceStorage},
			{Source: v1alpha1.SourceCalls, ReadBytes: 100 * mb}}, v1alpha1.SourceMount, 0, ""},
		"all from the cache": {[]Count{calls, {Source: v1alpha1.SourceStorage, WriteBytes: 50 * mb}},
			v1alpha1.SourceStorage, 1, v1alpha1.SourceCalls},
		"a line on the terminal is no difference": {[]Count{{Source: v1alpha1.SourceCalls, ReadBytes: 100 * mb, WriteBytes: 500_000},
			{Source: v1alpha1.SourceStorage, ReadBytes: 100 * mb}}, v1alpha1.SourceStorage, 0, ""},
	} {
		got, ok := Choose(slices.Clone(c.counts))
		if !ok || got.Source != c.source || math.Abs(got.Share-c.share) > 1e-9 || got.Other.Source != c.other {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, ok := Choose(nil); ok {
		t.Error("a count was made of nothing")
	}
}
