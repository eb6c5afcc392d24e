package limits

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// rowCase is a row of the catalog with a size and provisioned parameters. want holds the limits that were computed from
// the vendors' tables, independently of this code: "name: baseline burst bucket refill; ...", in bytes, operations and
// seconds. 0 means that there is no such value.
type rowCase struct {
	key           string
	capacityBytes int64
	provisioned   string
	cacheBytes    float64
	want          string
}

// TestEveryRow computes every row of the catalog. Each row must be in the tables.
func TestEveryRow(t *testing.T) {
	catalog := builtin(t)
	tested := map[string]bool{}
	for _, table := range [][]rowCase{awsRows, ec2Rows, azureRows} {
		for _, test := range table {
			t.Run(test.key, func(t *testing.T) { test.check(t, catalog) })
			if tested[test.key] {
				t.Errorf("row %q has two lines", test.key)
			}
			tested[test.key] = true
		}
	}
	for _, key := range catalog.Keys() {
		if !tested[key] {
			t.Errorf("row %q of the catalog has no line in the tables of rows_*_test.go: work its limits out by hand and add one", key)
		}
	}
}

func (r rowCase) check(t *testing.T, catalog *Catalog) {
	t.Helper()
	of, known := catalog.rows[r.key]
	if !known {
		t.Fatal("there is no such row")
	}
	volume := Volume{CapacityBytes: r.capacityBytes, Parameters: map[string]string{}}
	for word := range strings.FieldsSeq(r.provisioned) {
		name, value, _ := strings.Cut(word, "=")
		volume.Parameters[name] = value
	}
	e := resolved{complete: true}.environment(volume, of)
	cache := 0.0
	if of.cache != nil {
		computed := of.cache.of(e)
		if computed.missing != nil {
			t.Fatalf("cache: %+v", *computed.missing)
		}
		cache = computed.amount
	}
	if math.Abs(cache-r.cacheBytes) > 1 {
		t.Errorf("cache of %.0f bytes, want %.0f", cache, r.cacheBytes)
	}
	var got []Limit
	for _, limit := range of.limits {
		computed, missing := limit.compute(e, units{count: 1})
		if missing != nil {
			t.Fatalf("%s: %+v", limit.name, *missing)
		}
		if computed != nil {
			got = append(got, *computed)
		}
	}
	lines := strings.Split(r.want, "; ")
	if len(lines) != len(got) {
		t.Fatalf("%d limits, want %d: %+v", len(got), len(lines), got)
	}
	for index, line := range lines {
		name, figures, _ := strings.Cut(line, ": ")
		limit := got[index]
		if limit.Name != name {
			t.Errorf("limit %d is %q, want %q", index, limit.Name, name)
		}
		if limit.Arithmetic == "" || (limit.Burst > 0) != (limit.BurstArithmetic != "") || (limit.Bucket > 0) != (limit.BucketArithmetic != "") {
			t.Errorf("%s: its arithmetic is not whole: %+v", name, limit)
		}
		words := strings.Fields(figures)
		if len(words) != 4 {
			t.Fatalf("%q is no line of four figures", line)
		}
		for at, figure := range []float64{limit.Baseline, limit.Burst, limit.Bucket, limit.Refill} {
			want, err := strconv.ParseFloat(strings.ReplaceAll(words[at], "_", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(figure-want) > 1e-9*want+1e-9 {
				t.Errorf("%s: %s is %.6f, want %.6f", name, []string{"baseline", "burst", "bucket", "refill"}[at], figure, want)
			}
		}
	}
}

var loaded = sync.OnceValues(Builtin)

func builtin(t testing.TB) *Catalog {
	t.Helper()
	catalog, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}
