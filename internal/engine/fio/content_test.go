package fio_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/test/builders"
)

// TestContentOf checks that two profiles have the same content name exactly if they write the same kind of bytes.
func TestContentOf(t *testing.T) {
	compressible := func(percent int32, chunk string) func(*v1alpha1.FioProfile) {
		return func(p *v1alpha1.FioProfile) {
			p.Compressibility = &v1alpha1.Compressibility{Percent: percent}
			if chunk != "" {
				size := resource.MustParse(chunk)
				p.Compressibility.ChunkSize = &size
			}
		}
	}
	half := fio.ContentOf(builders.Fio().Mutate(compressible(50, "4Ki")).Obj())
	for name, c := range map[string]struct {
		profile *v1alpha1.FioProfile
		same    bool
	}{
		"the same":              {builders.Fio().Mutate(compressible(50, "4Ki")).Obj(), true},
		"in other words":        {builders.Fio().Mutate(compressible(50, "4096")).Obj(), true},
		"read instead":          {builders.Fio().Reads().Mutate(compressible(50, "4Ki")).Obj(), true},
		"another share":         {builders.Fio().Mutate(compressible(60, "4Ki")).Obj(), false},
		"another chunk":         {builders.Fio().Mutate(compressible(50, "8Ki")).Obj(), false},
		"not to be compressed":  {builders.Fio().Obj(), false},
		"a job file of its own": {builders.JobFile("[job]\nrw=write\n", "1Mi").Obj(), false},
	} {
		if got := fio.ContentOf(c.profile); (got == half) != c.same || len(got) != 12 {
			t.Errorf("%s: %s, and half: %s", name, got, half)
		}
	}
}
