package burst

import (
	"context"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/cluster"
)

// Mounted is a mounted store for a test. Its methods fail the test instead of returning errors.
type Mounted struct {
	*Store
	t testing.TB
}

// Mount starts a store in the node of an embedded cluster. The store ends with the test.
func Mount(t testing.TB, state cluster.State, name string, config model.Config) *Mounted {
	t.Helper()
	s, err := Start(t.Context(), state, Options{Name: name, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	m := &Mounted{Store: s, t: t}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := s.End(ctx); err != nil {
			t.Error(err)
		}
	})
	return m
}

// Truth returns the store's record; see [Store.Truth].
func (m *Mounted) Truth() truth.Record {
	m.t.Helper()
	record, err := m.Store.Truth()
	if err != nil {
		m.t.Fatal(err)
	}
	return record
}

// Set changes the store's configuration; see [Store.Set].
func (m *Mounted) Set(config model.Config) {
	m.t.Helper()
	if err := m.Store.Set(config); err != nil {
		m.t.Fatal(err)
	}
}
