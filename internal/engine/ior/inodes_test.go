package ior

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestInodes checks the number of files and directories that exist at most at the same time. It is 0 if mdtest may
// create fewer.
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
		// mdtest 4.0.0 with one rank and -C: 4 files without depth, 12 with it, 8 of them in leaf directories.
		{v1alpha1.MdtestProfile{FilesPerProcess: 4, Args: []string{"-I", "2"}}, 4*6 + 2},
		{v1alpha1.MdtestProfile{FilesPerProcess: 4, Depth: number(1), Branching: number(2), Args: []string{"-I", "2"}}, 12*6 + 2*3},
		{v1alpha1.MdtestProfile{FilesPerProcess: 4, Depth: number(1), Branching: number(2), Args: []string{"-I", "2", "-L"}}, 8*6 + 2*3},
		{v1alpha1.MdtestProfile{FilesPerProcess: 1000, Args: []string{"-S"}}, 0},
		{v1alpha1.MdtestProfile{FilesPerProcess: 1000, Args: []string{"-W", "60"}}, 0},
	} {
		traits, err := DescribeMdtest(&test.profile, 2, 3)
		if err != nil || traits.Inodes != test.want {
			t.Errorf("%+v: %d, %v; want %d", test.profile, traits.Inodes, err, test.want)
		}
	}
	size := resource.MustParse("1Mi")
	profile := v1alpha1.MdtestProfile{FilesPerProcess: 4, FileSize: &size, Depth: number(1), Branching: number(2), Args: []string{"-I", "2"}}
	if sizes, err := DescribeMdtest(&profile, 2, 3); err != nil || sizes.DatasetBytes != 12*6<<20 {
		t.Errorf("the files have %d bytes, %v; want 72 MiB", sizes.DatasetBytes, err)
	}
}
