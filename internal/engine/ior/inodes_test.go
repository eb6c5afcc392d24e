package ior

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// The maximum number of files and directories that exist at the same time, or 0 if mdtest may create fewer.
func TestInodes(t *testing.T) {
	t.Parallel()
	number := func(n int32) *int32 { return &n }
	yes := true
	for _, test := range []struct {
		profile v1alpha1.MdtestProfile
		want    uint64
	}{
		{v1alpha1.MdtestProfile{FilesPerProcess: 1000}, 1000*6 + 1},
		{v1alpha1.MdtestProfile{FilesPerProcess: 1000, FilesOnly: &yes, UniqueDirectories: &yes}, 1000*6 + 6},
		{v1alpha1.MdtestProfile{FilesPerProcess: 15, Depth: number(3), Branching: number(2)}, 15*6 + 1 + 2 + 4 + 8},
		{v1alpha1.MdtestProfile{FilesPerProcess: 15, Depth: number(3), Branching: number(2), UniqueDirectories: &yes}, 15*6 + 6*15},
		{v1alpha1.MdtestProfile{FilesPerProcess: 8, Depth: number(3), Branching: number(2), Args: []string{"-L"}}, 8*6 + 15},
		{v1alpha1.MdtestProfile{FilesPerProcess: 1000, Args: []string{"-S"}}, 0},
		{v1alpha1.MdtestProfile{FilesPerProcess: 1000, Args: []string{"-W", "60"}}, 0},
	} {
		traits, err := DescribeMdtest(&test.profile, 2, 3)
		if err != nil || traits.Inodes != test.want {
			t.Errorf("%+v: %d, %v; want %d", test.profile, traits.Inodes, err, test.want)
		}
	}
}
