package limits

import (
	"strings"
	"testing"
)

// good is a small valid catalog. The tests introduce mistakes into it.
const good = `catalog: "1"
sources:
  guide: {title: A guide, url: "https://example.com/guide", asOf: "2026", read: "2026-11-21"}
rows:
- key: my-nas/fast
  source: guide
  cache: 4 GiB
  limits:
  - {name: disk throughput, layer: Disk, baseline: 100 MB/s, burst: 300 MB/s, burstSeconds: 60 s, cachedReads: Pass}
  - {name: disk operations, layer: Disk, baseline: {each: 3 IOPS/GiB, min: 100 IOPS}, operationUnit: 256 KiB}
presets:
- {name: my-nas/both, rows: [my-nas/fast]}
`

func TestStrictLoading(t *testing.T) {
	if _, err := load(map[string]string{"good.yaml": good}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ from, to, want string }{
		"an unknown field of the file":     {"presets:", "persets:", `field persets is unknown; correct its spelling`},
		"an unknown field of a row":        {"  cache:", "  cahce:", `row "my-nas/fast", line 5: field cahce is unknown`},
		"an unknown field of a limit":      {"burst:", "brust:", `row "my-nas/fast", line 5: limit 1`},
		"an unknown field of a figure":     {"min:", "mni:", `limit 2 "disk operations": baseline: field mni is unknown`},
		"an unknown field of a source":     {"asOf:", "asof:", `field asof is unknown`},
		"a missing unit":                   {"100 MB/s", "100", `limit 1 "disk throughput": baseline: "100" has no unit; add it after the number, such as 150 MB/s`},
		"an unknown unit":                  {"100 MB/s", "100 MBps", `"100 MBps" has the unknown unit "MBps"; use B/s, GB,`},
		"a unit of another kind":           {"100 MB/s", "100 MB", `"100 MB" has the wrong unit (bytes)`},
		"a burst of another kind":          {"300 MB/s", "300 IOPS", `burst: "300 IOPS" has the wrong unit (operations per second); use a value such as 150 MB/s`},
		"no number":                        {"100 MB/s", "fast", `"fast" is not a figure; use a number, a space and a unit`},
		"a negative number":                {"100 MB/s", "-5 MB/s", `"-5 MB/s" is not a figure`},
		"not a number at all":              {"100 MB/s", "NaN MB/s", `"NaN MB/s" is not a figure`},
		"no baseline":                      {"baseline: 100 MB/s, ", "", `baseline: missing; set a rate with its unit`},
		"a burst without an end":           {", burstSeconds: 60 s", "", `burst: set exactly one of bucket (its size, unpublished or billed) and burstSeconds`},
		"a burst with two ends":            {"burstSeconds: 60 s", "burstSeconds: 60 s, bucket: 1 GB", `set exactly one of bucket`},
		"a bucket of operations for bytes": {"burstSeconds: 60 s", "bucket: 100 IO", `bucket: "100 IO" has the wrong unit (operations); use a value such as 4 GiB`},
		"an unknown word for a bucket":     {"burstSeconds: 60 s", "bucket: secret", `bucket: "secret" is not a figure`},
		"a bucket without a burst":         {"burst: 300 MB/s, ", "", `bucket, burstSeconds and refill need a burst`},
		"a figure that belongs nowhere":    {"each: 3 IOPS/GiB", "each: 3 IOPS", `each: "3 IOPS" is a plain figure; use a unit per GiB or TiB`},
		"a bound by capacity":              {"min: 100 IOPS", "min: 100 IOPS/GiB", `min: "100 IOPS/GiB" is a figure per GiB or TiB; use a unit without capacity`},
		"a figure that says nothing":       {"{each: 3 IOPS/GiB, min: 100 IOPS}", "{min: 100 IOPS}", `the figure is empty: set base, each, parameter or times`},
		"an unknown layer":                 {"layer: Disk, baseline: 100", "layer: Disc, baseline: 100", `layer: unknown value "Disc"; use one of ["Instance"`},
		"an unknown source":                {"source: guide", "source: book", `source: "book" is not in sources`},
		"no source":                        {"  source: guide\n", "", `source: missing; name an entry of sources`},
		"a source that nobody uses":        {"rows:", "  book: {title: A, url: \"https://a\", asOf: \"1\", read: \"2026-01\"}\nrows:", `source "book": unused; remove it`},
		"a source without a day":           {`read: "2026-11-21"`, `read: "lately"`, `source "guide": read: "lately" is not a date; use the form 2026-11-21`},
		"a source without an address":      {`"https://example.com/guide"`, `"a book"`, `url: "a book" is not an https address`},
		"a key that comes twice":           {"presets:", "- key: my-nas/fast\n  source: guide\n  limits: [{name: a, layer: Disk, baseline: 1 MB/s}]\npresets:", `row "my-nas/fast", line 11: duplicate key; rename or remove one`},
		"a field that comes twice":         {"  cache: 4 GiB\n", "  cache: 4 GiB\n  cache: 5 GiB\n", `already defined`},
		"no key":                           {"- key: my-nas/fast\n  source", "- source", `row "", line 5: key: missing; set a key such as my-store/fast`},
		"a key of another form":            {"key: my-nas/fast", "key: fast", `key: must have the form store/kind`},
		"a preset of no row":               {"rows: [my-nas/fast]", "rows: [my-nas/fats]", `preset "my-nas/both": unknown row "my-nas/fats"; known names are my-nas/both, my-nas/fast`},
		"a preset named as a row":          {"name: my-nas/both", "name: my-nas/fast", `preset "my-nas/fast": a row has the same key; rename one`},
		"no limits":                        {"presets:", "- {key: my-nas/none, source: guide, limits: []}\npresets:", `row "my-nas/none", line 11: limits: missing`},
		"no version":                       {"catalog: \"1\"\n", "", `catalog: missing; set it to the version of the data`},
		"two documents":                    {"presets:", "---\npresets:", `more than one document`},
	} {
		t.Run(name, func(t *testing.T) {
			spoilt := strings.Replace(good, test.from, test.to, 1)
			if spoilt == good {
				t.Fatalf("%q is not in the catalog of this test", test.from)
			}
			_, err := load(map[string]string{"bad.yaml": spoilt})
			if err == nil {
				t.Fatal("it was loaded")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q\nhas no %q", err, test.want)
			}
			if !strings.Contains(err.Error(), "bad.yaml") && !strings.HasPrefix(err.Error(), "preset") {
				t.Errorf("%q does not name the file", err)
			}
		})
	}
}

func TestFilesOfOneCatalog(t *testing.T) {
	other := strings.NewReplacer("my-nas/", "your-nas/").Replace(good)
	if _, err := load(map[string]string{"a.yaml": good, "b.yaml": other}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, want string }{
		{good, `b.yaml: row "my-nas/fast" is also in another file`},
		{strings.Replace(other, `catalog: "1"`, `catalog: "2"`, 1), `b.yaml: catalog: "2" differs from "1"`},
		{"", `b.yaml: the file is empty`},
		{"rows: [", `b.yaml: `},
		{strings.Repeat("#", maxFileBytes+1), `the limit is 1048576`},
	} {
		_, err := load(map[string]string{"a.yaml": good, "b.yaml": test.text})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

func TestOverride(t *testing.T) {
	catalog := builtin(t)
	own := strings.Replace(strings.Replace(good, "my-nas/fast", "azure-vm/Standard_D32s_v3", 2), "my-nas/both", "my-nas/vm", 1)
	made, changes, err := catalog.Override(map[string]string{"nas.yaml": good, "vm.yaml": own})
	if err != nil {
		t.Fatal(err)
	}
	want := []Overridden{{"nas.yaml", "my-nas/fast", false}, {"nas.yaml", "my-nas/both", false}, {"vm.yaml", "azure-vm/Standard_D32s_v3", true}, {"vm.yaml", "my-nas/vm", false}}
	if len(changes) != len(want) {
		t.Fatalf("%+v, want %+v", changes, want)
	}
	for index := range want {
		if changes[index] != want[index] {
			t.Errorf("%+v, want %+v", changes[index], want[index])
		}
	}
	if len(made.Keys()) != len(catalog.Keys())+1 || !made.rows["my-nas/fast"].overridden || !made.rows["azure-vm/Standard_D32s_v3"].overridden || made.rows["aws-ec2/flow"].overridden {
		t.Error("other rows than those were overridden")
	}
	if catalog.rows["azure-vm/Standard_D32s_v3"].overridden {
		t.Error("the catalog itself was changed")
	}
	for _, test := range []struct {
		data map[string]string
		want string
	}{
		{map[string]string{"a": good, "b": good}, `override the catalog of limits: b: "my-nas/fast" is also in a; rename or remove one`},
		{map[string]string{"a": strings.Replace(good, "100 MB/s", "100", 1)}, `override the catalog of limits: a: row "my-nas/fast", line 5: limit 1 "disk throughput": baseline: "100" has no unit`},
		{map[string]string{"a": strings.Replace(good, "[my-nas/fast]", "[my-nas/slow]", 1)}, `override the catalog of limits: a: preset "my-nas/both": unknown row "my-nas/slow"`},
	} {
		if _, _, err := catalog.Override(test.data); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]float64{"1 MB/s": 1e6, "2 MiB/s": 2 << 20, "25 Gbit/s": 3.125e9, "4750 Mbit/s": 593.75e6, "0.5 GB/s": 5e8, "3 IOPS": 3} {
		if q, err := parseQuantity(text, byteRate, operationRate); err != nil || q.value() != want {
			t.Errorf("%s is %v %v, want %v", text, q.value(), err, want)
		}
	}
	for _, test := range []struct {
		value float64
		want  string
	}{{0, "0"}, {2880, "2,880"}, {14.4, "14.4"}, {0.04, "0.04"}, {1234567, "1,234,567"}, {593.75, "593.75"}, {-1234.5, "-1,234.5"}, {1.0 / 3, "0.333333"}, {999999.96, "1,000,000"}} {
		if got := number(test.value); got != test.want {
			t.Errorf("%v is written %q, want %q", test.value, got, test.want)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add(good)
	f.Add("rows: [{}]")
	f.Add("rows:\n- &a {key: a/b, limits: [*a]}")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseFile("f", text); err != nil && !strings.HasPrefix(err.Error(), "f: ") {
			t.Errorf("%v does not name the file", err)
		}
	})
}
