package main

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/hack/testevents"
)

func TestSummary(t *testing.T) {
	const events = `{"Action":"start","Package":"github.com/storagebench/storagebench/internal/plan"}
{"Action":"run","Package":"github.com/storagebench/storagebench/internal/plan","Test":"TestA"}
not an event
{"Action":"pass","Package":"github.com/storagebench/storagebench/internal/plan","Test":"TestA/one","Elapsed":1}
{"Action":"pass","Package":"github.com/storagebench/storagebench/internal/plan","Test":"TestA","Elapsed":1.5}
{"Action":"skip","Package":"github.com/storagebench/storagebench/internal/plan","Test":"TestB","Elapsed":0}
{"Action":"pass","Package":"github.com/storagebench/storagebench/internal/plan","Elapsed":1.75}
{"Action":"fail","Package":"github.com/storagebench/storagebench/test/local","Test":"TestC","Elapsed":20}
{"Action":"fail","Package":"github.com/storagebench/storagebench/test/local","Elapsed":21}
{"Action":"fail","Package":"github.com/storagebench/storagebench/test/chart","Elapsed":0}
`
	const want = `
Slowest packages:
    21.0 s  fail  test/local
     1.8 s  pass  internal/plan

Slowest tests:
    20.0 s  fail  test/local TestC
     1.5 s  pass  internal/plan TestA
FAILED: test/local TestC
FAILED: test/chart (outside of its tests)
2 passed, 2 failed, 1 skipped
`
	var s summary
	if err := testevents.Read(strings.NewReader(events), s.add); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	s.print(&got, 2, 2)
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}
