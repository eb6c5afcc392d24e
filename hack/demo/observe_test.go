package main

import (
	"io"
	"testing"

	"github.com/storagebench/storagebench/test/prometheus"
)

// TestStartPrometheusBesideAnother checks that a Prometheus that is started beside another one has its own address, so
// that the demo does not query the other one.
func TestStartPrometheusBesideAnother(t *testing.T) {
	prometheus.Program(t, "prometheus")
	d := &demo{console: console{out: io.Discard}}
	defer d.endPrograms()
	var addresses []string
	for range 2 {
		address, err := d.startPrometheus(t.Context(), "127.0.0.1", "global: {}\n")
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, address)
	}
	if addresses[0] == addresses[1] {
		t.Errorf("both have the address %s", addresses[0])
	}
}
