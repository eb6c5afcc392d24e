package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/golden"
)

func finished(left ...v1alpha1.DataLeft) func(*v1alpha1.BenchmarkRun) {
	return func(run *v1alpha1.BenchmarkRun) {
		record.Finishing(run, builders.Start.Add(43*time.Second))
		record.Finished(run, left, builders.Start.Add(43700*time.Millisecond))
	}
}

func fails(reason, message string) func(*v1alpha1.BenchmarkRun) {
	return func(run *v1alpha1.BenchmarkRun) {
		record.Fail(run, decide.Failure{Reason: reason, Message: message}, builders.Start.Add(21*time.Second))
	}
}

func usual() *builders.BenchmarkBuilder {
	return builders.Benchmark("usual").Target("data").Clients(4).Prepare("layout").Steady("write", "10s").
		Steady("read", "10s").With(builders.Fio().Reads())
}

func client(step plan.Step, target string, index int) *builders.ClientBuilder {
	operation := measure.Write
	if step.Phase == "read" {
		operation = measure.Read
	}
	each := builders.Counter(uint64(1500+10*index), 65536) // #nosec G115 -- positive
	return builders.Client(target, index).On("one").Later(time.Duration(index)*3*time.Millisecond).
		Does(10, operation, each, time.Duration(4+index)*time.Millisecond)
}

// four returns the results of four healthy clients on one machine.
func four(step plan.Step) []result.Client {
	var all []result.Client
	for _, target := range step.Targets {
		for i := range 4 {
			all = append(all, client(step, target, i).Obj())
		}
	}
	return all
}

var documents = map[string]paper{
	"good": play(usual(), func(step plan.Step) []result.Client {
		all := four(step)
		for i := range all {
			all[i].Machine = ""
		}
		return all
	}, finished()),
	"shared-machine": play(usual(), four, finished()),
	"two-targets":    play(builders.Benchmark("usual").Target("none").Target("lz4").Clients(4).Prepare("layout").Steady("write", "10s"), four, finished()),
	"long-names": play(builders.Benchmark("usual").Target("fsx-for-windows-share").Target("fsx-for-lustre-scratch").Clients(4).
		Prepare("lay-out-all-of-the-data").Steady("write-for-a-long-time", "10s"), four, finished()),
	"fsync": play(builders.Benchmark("usual").Target("data").Workload(builders.Fio().Buffered().FsyncEvery(1)).Steady("commit", "10s"),
		func(plan.Step) []result.Client {
			return []result.Client{builders.Client("data", 0).Does(10, measure.Write, builders.Counter(400, 4096), 40*time.Microsecond).
				Total(measure.Sync, measure.Counter{Operations: 4000}, 2300*time.Microsecond).Obj()}
		}, finished()),
	"failed-at-once": play(usual(), func(plan.Step) []result.Client { return nil },
		fails("DirectoryMissing", "client data/1 cannot take part: volume data at /mnt/data: the directory does not exist; create it, or correct --target"), finished()),
	"failed-in-a-step": play(usual(), func(step plan.Step) []result.Client {
		switch step.Phase {
		case "layout":
			return four(step)
		case "write":
			all := four(step)
			for i := range all[1:] {
				all[i+1] = builders.Client("data", i+1).On("one").Does(3, measure.Write, builders.Counter(1500, 65536), 4*time.Millisecond).
					Stopped("client data/0 failed").Obj()
			}
			all[0].Failure, all[0].FailureMessage = "NoSpace", "fio: the volume is full (job data: No space left on device (ENOSPC))"
			return all
		}
		return nil
	}, fails("NoSpace", "step 01-write: client data/0: fio: the volume is full (job data: No space left on device (ENOSPC))"), finished()),
	"not-valid": play(usual(), func(step plan.Step) []result.Client {
		all := four(step)
		if step.Phase == "read" {
			all[2].UnwrittenBytes = 16 << 20
			all[1].Notices = append(all[1].Notices, result.Notice{Warning: "DirectIONotHonoured",
				Message: "direct I/O was asked for, and 67108864 of the files' 67108864 bytes are in the page cache"})
		}
		return all
	}, finished()),
	"interrupted": play(usual(), func(step plan.Step) []result.Client {
		all := four(step)
		if step.Phase == "read" {
			for i := range all {
				all[i].Stopped, all[i].StopMessage = true, "the command received the signal: interrupt"
			}
		}
		return all
	}, fails(v1alpha1.ReasonStopped, "the command received the signal: interrupt"), finished()),
	"lost-and-replaced": play(usual(), func(step plan.Step) []result.Client { return four(step) }, func(run *v1alpha1.BenchmarkRun) {
		run.Status.LostClients = append(run.Status.LostClients,
			v1alpha1.LostClient{Target: "data", Client: 1, Step: "01-write", Replaced: true, Reason: "its process exited: signal: killed"},
			v1alpha1.LostClient{Target: "data", Client: 3, Reason: "out of reach for 30s"})
	}, finished()),
	"all-lost": play(usual(), func(step plan.Step) []result.Client {
		if step.Phase == "layout" {
			return four(step)
		}
		var all []result.Client
		for i := range 4 {
			all = append(all, client(step, "data", i).Lost("its process exited: signal: killed").Obj())
		}
		return all
	}, fails(v1alpha1.ReasonClientLost, "client data/0 was lost: its process exited: signal: killed"), finished()),
	"data-left": play(usual(), four, finished(v1alpha1.DataLeft{Target: "data", Path: "/mnt/data/.storagebench/0c9a1f6e", Reason: "unlinkat data.0.0: read-only file system"})),
	"unfinished": play(usual(), func(step plan.Step) []result.Client {
		if step.Phase == "layout" {
			return four(step)
		}
		return nil
	}),
	"hostile": play(usual(), func(step plan.Step) []result.Client {
		all := four(step)
		all[0].Notices = append(all[0].Notices, result.Notice{Warning: "ToolMessages", Message: "\x1b[2J\x1b]0;owned\a red\r\nnew line \u202e backwards " + strings.Repeat("x", 300)})
		return all
	}, func(run *v1alpha1.BenchmarkRun) {
		run.Status.Environments[0].ToolVersion = "fio-3.33\x1b[31m\nverdict: all well"
	}, finished()),
	"objective-missed": play(usual(), four, func(run *v1alpha1.BenchmarkRun) {
		tenth, most := resource.MustParse("100k"), resource.MustParse("1E")
		run.Spec.Objectives = []v1alpha1.Objective{
			{Name: "some", Phase: "write", Throughput: &v1alpha1.QuantityBounds{Min: &tenth}},
			{Name: "too-much", Phase: "write", Throughput: &v1alpha1.QuantityBounds{Min: &most}},
			{Name: "tail", Phase: "write", Latency: &v1alpha1.LatencyObjective{Percentile: "99.995", Max: new(v1alpha1.ShortDuration("500us"))}},
			{Name: "burst", Phase: "write", Burst: &v1alpha1.QuantityBounds{Min: &tenth}},
		}
	}, finished()),
}

func text(t *testing.T, document report.Document, options report.TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := report.Text(&b, document, options); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var verbose = report.TextOptions{Verbose: true}

func TestText(t *testing.T) {
	for name, test := range all() {
		t.Run(name, func(t *testing.T) {
			document := test.document(t)
			short, full := text(t, document, report.TextOptions{}), text(t, document, verbose)
			for line := range strings.Lines(short + full) {
				if length := utf8.RuneCountInString(strings.TrimRight(line, "\n")); length > 120 && !strings.Contains(line, "xxxx") {
					t.Errorf("a line has %d columns: %s", length, line)
				}
				if strings.HasSuffix(line, " \n") {
					t.Errorf("a line ends with a space: %q", line)
				}
			}
			golden.File(t, filepath.Join("testdata", name+".golden.txt"), short+"\n== with -v\n\n"+full)
		})
	}
}

// TestLikeWarningsAreFolded checks that warnings of the same type share an entry, and that the short text shows only
// the first ones.
func TestLikeWarningsAreFolded(t *testing.T) {
	d := documents["good"].document(t)
	late := func(nodes ...string) {
		for _, name := range nodes {
			d.Warnings = append(d.Warnings, v1alpha1.Warning{Type: v1alpha1.WarningClockUncertain,
				Severity: v1alpha1.SeverityWarning, Message: "node " + name + " is late"})
		}
	}
	late("one", "two", "three")
	if short := text(t, d, report.TextOptions{}); !strings.Contains(short,
		"  - ClockUncertain: run: node one is late; run: node two is late; run: node three is late\n") {
		t.Errorf("want all three warnings:\n%s", short)
	}
	late("four")
	short, full := text(t, d, report.TextOptions{}), text(t, d, verbose)
	if !strings.Contains(short, "  - ClockUncertain: run: node one is late; run: node two is late; 2 more like this\n") || !strings.Contains(short, "valid, 2 warnings\n") {
		t.Errorf("short:\n%s", short)
	}
	if !strings.Contains(full, "  - ClockUncertain: run: node one is late; run: node two is late; run: node three is late; run: node\n    four is late\n") {
		t.Errorf("in full:\n%s", full)
	}
}

// TestStateOfARate checks that the text and the page show the precision and the steadiness of each rate.
func TestStateOfARate(t *testing.T) {
	d := documents["good"].document(t)
	write, read := &d.Phases[1].Targets[0], &d.Phases[2].Targets[0]
	write.SteadyState = &v1alpha1.SteadyStateResult{Assessed: true, Steady: new(false)}
	write.Operations[0].RateErrorPPM = new(int64(31_400))
	read.SteadyState = &v1alpha1.SteadyStateResult{Assessed: true, Steady: new(true)}
	read.Operations[0].RateErrorPPM = nil
	short := text(t, d, report.TextOptions{})
	for _, row := range []string{
		`layout  Write +\S+ MB/s +6,055 .* 7\.00 ms\n`,
		`write   Write +\S+ MB/s   3\.1 %  6,060 .*  not steady\n`,
		`read    Read +\S+ MB/s       -  6,060 .*      steady\n`,
	} {
		if !regexp.MustCompile(row).MatchString(short) {
			t.Errorf("no row matches %s:\n%s", row, short)
		}
	}
	if count := strings.Count(short, "cover this run only"); count != 1 {
		t.Errorf("%d footnotes:\n%s", count, short)
	}
	var page strings.Builder
	if err := report.HTML(&page, d); err != nil {
		t.Fatal(err)
	}
	for _, cell := range []string{"95 % ±", "3.1 %", "not steady", "cover this run only"} {
		if !strings.Contains(page.String(), cell) {
			t.Errorf("the page has no %q", cell)
		}
	}
}

// TestUncountedOperations checks that a rate in bytes has no IOPS beside it if operations were not counted.
func TestUncountedOperations(t *testing.T) {
	d := documents["good"].document(t)
	write := &d.Phases[1].Targets[0].Operations[0]
	write.Operations, write.IOPSMilli, write.Latency = 0, nil, nil
	short := text(t, d, report.TextOptions{})
	if !regexp.MustCompile(`write   Write +\S+ MB/s +\S+ % +- +-`).MatchString(short) {
		t.Errorf("the write has a rate of operations:\n%s", short)
	}
	d = rampPaper().document(t)
	first := &d.Phases[1].Targets[0].Steps[0].Operations[0]
	first.IOPSMilli, first.MeanNanoseconds, first.P99Nanoseconds = 0, 0, nil
	full := text(t, d, report.TextOptions{Verbose: true})
	if !regexp.MustCompile(`1 +Write +\S+ MB/s +- +- +-`).MatchString(full) {
		t.Errorf("the first step has a rate of operations:\n%s", full)
	}
}

// TestJudgedByOtherObjectives checks that a run can be judged by objectives that are newer than the run, and that the
// run's own document does not change.
func TestJudgedByOtherObjectives(t *testing.T) {
	made := documents["objective-missed"].document(t)
	before := text(t, made, report.TextOptions{})
	tenth := resource.MustParse("100k")
	met := made.JudgedBy([]v1alpha1.Objective{{Name: "lower", Phase: "write", Throughput: &v1alpha1.QuantityBounds{Min: &tenth}}})
	got := text(t, met, report.TextOptions{})
	if strings.Contains(got, "MISSED") || !strings.Contains(got, "The benchmark's objectives have changed since this run") ||
		!strings.Contains(got, "at least 100.0 kB/s") || report.ExitCode(met) != report.ExitMet {
		t.Errorf("exit code %d:\n%s", report.ExitCode(met), got)
	}
	none := made.JudgedBy(nil)
	if got := text(t, none, report.TextOptions{}); !strings.Contains(got, "objectives were removed after this run") || report.ExitCode(none) != report.ExitMet {
		t.Errorf("exit code %d:\n%s", report.ExitCode(none), got)
	}
	if after := text(t, made, report.TextOptions{}); after != before || report.ExitCode(made) != report.ExitMissed {
		t.Errorf("the document of the run itself changed:\n%s", cmp.Diff(before, after))
	}
}

// TestDisqualifiedFirst checks that a disqualifying warning appears once, before the figures.
func TestDisqualifiedFirst(t *testing.T) {
	for name, warning := range map[string]string{"not-valid": "UnwrittenDataRead", "interrupted": "ResultIncomplete", "failed-in-a-step": "ToolError"} {
		got := text(t, documents[name].document(t), report.TextOptions{})
		at, table := strings.Index(got, warning), strings.Index(got, "THROUGHPUT")
		if at < 0 || table < 0 || at > table {
			t.Errorf("%s: %s is at %d, the table at %d", name, warning, at, table)
		}
		if strings.Count(got, warning) != 1 {
			t.Errorf("%s: %s appears %d times", name, warning, strings.Count(got, warning))
		}
	}
}

// TestNothingForTheTerminalToObey checks that the report contains no control characters, even if a tool's output does.
func TestNothingForTheTerminalToObey(t *testing.T) {
	got := text(t, documents["hostile"].document(t), verbose)
	if at := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && r < ' ' || r == 0x7f || r == 0x202e }); at >= 0 {
		t.Errorf("the report has a control character: %q", got[at:min(at+20, len(got))])
	}
	if strings.Contains(got, "\nverdict") {
		t.Error("the output of a tool added a line")
	}
}

func TestJSONRoundTrip(t *testing.T) {
	for name, test := range all() {
		t.Run(name, func(t *testing.T) {
			document := test.document(t)
			var first, second bytes.Buffer
			if err := report.JSON(&first, document); err != nil {
				t.Fatal(err)
			}
			written := first.String()
			read, err := report.Read(&first)
			if err != nil {
				t.Fatal(err)
			}
			equalTimes := cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) })
			equalMicroTimes := cmp.Comparer(func(a, b metav1.MicroTime) bool { return a.Equal(&b) })
			if diff := cmp.Diff(document, read, equalTimes, equalMicroTimes); diff != "" {
				t.Errorf("what was read differs (-written +read):\n%s", diff)
			}
			if err := report.JSON(&second, read); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(written, second.String()); diff != "" {
				t.Errorf("the second encoding differs:\n%s", diff)
			}
			if text(t, document, verbose) != text(t, read, verbose) || report.ExitCode(document) != report.ExitCode(read) {
				t.Error("text or exit code changed")
			}
		})
	}
}

// TestReadsAnObjectOfTheCluster checks that a BenchmarkRun in kubectl's JSON is shown like the run's own document.
func TestReadsAnObjectOfTheCluster(t *testing.T) {
	want := documents["good"].document(t)
	object := v1alpha1.BenchmarkRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "storagebench.dev/v1alpha1", Kind: "BenchmarkRun"},
		ObjectMeta: metav1.ObjectMeta{Name: want.Run, Namespace: want.Namespace, UID: types.UID(want.RunUID)},
		Spec:       want.Spec, Status: want.BenchmarkRunStatus,
	}
	object.Status.Environments[0].AgentVersion = "v0.1.0"
	written, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	got, err := report.Read(bytes.NewReader(written))
	if err != nil {
		t.Fatal(err)
	}
	want = want.With(nil) // an object in the cluster has no data over time
	if text(t, want, verbose) != text(t, got, verbose) {
		t.Errorf("the text differs:\n%s", cmp.Diff(text(t, want, verbose), text(t, got, verbose)))
	}
	if got.Version != "v0.1.0" || got.RunUID != want.RunUID || got.Namespace != want.Namespace || report.ExitCode(got) != report.ExitMet {
		t.Errorf("version %q, UID %q, namespace %q, exit code %d", got.Version, got.RunUID, got.Namespace, report.ExitCode(got))
	}
}

// TestContract checks the JSON fields that other programs rely on: those of the BenchmarkRun's status, and the names.
func TestContract(t *testing.T) {
	var b bytes.Buffer
	if err := report.JSON(&b, documents["good"].document(t)); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{"schemaVersion": 1.0, "benchmark": "usual", "run": "usual-3f2a91", "storagebenchVersion": "v0.1.0", "stage": "Complete"} {
		if got[field] != want {
			t.Errorf("%s is %v, not %v", field, got[field], want)
		}
	}
	for _, field := range []string{"conditions", "phases", "steps", "environments", "startTime", "endTime", "spec"} {
		if got[field] == nil {
			t.Errorf("%s is missing", field)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	var b bytes.Buffer
	if err := report.JSON(&b, documents["good"].document(t)); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	for name, test := range map[string]struct{ text, want string }{
		"nothing":              {"", "the input is empty"},
		"no JSON":              {"PHASE  TARGET", "invalid character"},
		"null":                 {"null", "schemaVersion is 0"},
		"a list":               {"[]", "cannot unmarshal array"},
		"cut off":              {good[:len(good)/2], "unexpected EOF"},
		"two results":          {good + good, "data after the result"},
		"text after it":        {good + "done", "data after the result"},
		"another version":      {strings.Replace(good, `"schemaVersion": 1`, `"schemaVersion": 2`, 1), "schemaVersion is 2, but must be 1"},
		"fio's own":            {`{"fio version": "fio-3.33", "jobs": []}`, "schemaVersion is 0"},
		"merged":               {`{"schemaVersion": 1, "latencyType": "lat"}`, "no run or benchmark name"},
		"wrong type":           {strings.Replace(good, `"stage": "Complete"`, `"stage": 5`, 1), "cannot unmarshal number"},
		"a list of runs":       {`{"apiVersion":"v1","kind":"List","items":[]}`, "a List (v1): specify one BenchmarkRun"},
		"a benchmark":          {`{"apiVersion":"storagebench.dev/v1alpha1","kind":"StorageBenchmark"}`, "a StorageBenchmark (storagebench.dev"},
		"a run of a later API": {`{"apiVersion":"storagebench.dev/v9","kind":"BenchmarkRun"}`, "a BenchmarkRun (storagebench.dev/v9)"},
		"a nameless run":       {`{"apiVersion":"storagebench.dev/v1alpha1","kind":"BenchmarkRun"}`, "no run or benchmark name"},
		"two YAML results":     {"run: r\n---\nrun: s\n", "data after the result"},
		"a YAML bomb":          {"run: &a [x, x]\nspec: &b [*a, *a]\nsteps: [*b, *b]\n", "the input has a YAML alias"},
		"keys set twice":       {"run: r\nrun: s\n", "already set"},
		"a YAML list":          {"- run: r\n", "invalid character"},
		"fraction":             {strings.Replace(good, `"clients": 4`, `"clients": 4.5`, 1), "cannot unmarshal number 4.5"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := report.Read(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q, got %v", test.want, err)
			}
		})
	}
	if _, err := report.Read(strings.NewReader(strings.Replace(good, `"schemaVersion": 1`, `"schemaVersion": 1, "fromTheFuture": {}`, 1))); err != nil {
		t.Errorf("an unknown field: %v", err)
	}
	if _, err := report.Read(endless{}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("an endless file: %v", err)
	}
}

// endless is an infinite file of spaces.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrors(t *testing.T) {
	document := documents["good"].document(t)
	if err := report.Text(full{}, document, verbose); err == nil {
		t.Error("Text ignored a full disk")
	}
	if err := report.JSON(full{}, document); err == nil {
		t.Error("JSON took no notice of a full disk")
	}
}

func TestExitCode(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, test := range map[string]struct {
		complete, valid, met metav1.ConditionStatus
		want                 int
	}{
		"all well":                        {yes, yes, yes, report.ExitMet},
		"objective missed":                {yes, yes, no, report.ExitMissed},
		"figure for an objective absent":  {yes, yes, unknown, report.ExitMissed},
		"objectives not judged":           {yes, yes, "", report.ExitMissed},
		"not valid":                       {yes, no, yes, report.ExitInvalid},
		"not valid and an objective lost": {yes, no, no, report.ExitInvalid},
		"validity not known":              {yes, unknown, yes, report.ExitInvalid},
		"failed":                          {no, yes, yes, report.ExitFailed},
		"failed and not valid":            {no, no, no, report.ExitFailed},
		"nothing known":                   {"", "", "", report.ExitFailed},
	} {
		var document report.Document
		for kind, status := range map[string]metav1.ConditionStatus{v1alpha1.ConditionComplete: test.complete,
			v1alpha1.ConditionValid: test.valid, v1alpha1.ConditionObjectivesMet: test.met} {
			if status != "" {
				document.Conditions = append(document.Conditions, metav1.Condition{Type: kind, Status: status})
			}
		}
		if got := report.ExitCode(document); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	for name, want := range map[string]int{"good": 0, "shared-machine": 0, "failed-at-once": 1, "failed-in-a-step": 1, "interrupted": 1,
		"unfinished": 1, "objective-missed": 2, "not-valid": 3, "data-left": 0} {
		if got := report.ExitCode(documents[name].document(t)); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
