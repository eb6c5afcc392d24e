package dataset

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBlockOffsets(t *testing.T) {
	for _, test := range []struct {
		bytes uint64
		count int
		want  []int64
	}{
		{0, 16, []int64{0}},
		{1, 16, []int64{0}},
		{blockBytes, 16, []int64{0}},
		{1 << 20, 1, []int64{0}},
		{1 << 20, 2, []int64{0, 1<<20 - blockBytes}},
		{blockBytes + 1, 4, []int64{0, 1}},
		{1<<20 + 7, 3, []int64{0, (1<<20 + 7 - blockBytes) / 2 &^ 4095, 1<<20 + 7 - blockBytes}},
	} {
		if got := blockOffsets(test.bytes, test.count); fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%d bytes, %d blocks: %v, want %v", test.bytes, test.count, got, test.want)
		}
	}
}

// TestDiffers checks that a block with a checksum must match it, and that a block without one must not contain only
// zeros, unless the workload writes zeros.
func TestDiffers(t *testing.T) {
	const size = 1 << 20
	overwrite := func(offset int64, with []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			t.Helper()
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			must(t, err)
			_, err = file.WriteAt(with, offset)
			must(t, err)
			must(t, file.Close())
		}
	}
	for name, test := range map[string]struct {
		change        func(*testing.T, string)
		summed, zeros bool
		want          string
	}{
		"nothing":                              {},
		"nothing, summed":                      {summed: true},
		"a bit in a block that is summed":      {change: overwrite(3, []byte{7}), summed: true, want: "was modified at offset 0"},
		"the last byte":                        {change: overwrite(size-1, []byte{7}), summed: true, want: "was modified at offset 983040"},
		"other data, not summed":               {change: overwrite(0, bytes.Repeat([]byte{7}, size))},
		"zeros":                                {change: overwrite(0, make([]byte, size)), want: "contains zeros at offset 0"},
		"zeros at the end":                     {change: overwrite(size-blockBytes, make([]byte, blockBytes)), want: "contains zeros at offset 983040"},
		"zeros that the workload writes":       {change: overwrite(0, make([]byte, size)), zeros: true},
		"zeros that it writes, and was summed": {change: overwrite(0, make([]byte, size)), zeros: true, summed: true, want: "was modified"},
	} {
		t.Run(name, func(t *testing.T) {
			d := mustCreate(t, t.TempDir(), 0)
			files := LaidOut{}
			for i := range 3 {
				name := fmt.Sprintf("data.%d", i)
				mustWrite(t, filepath.Join(d.Path(), name), strings.Repeat(fmt.Sprintf("line %d\n", i), size)[:size])
				files[name] = LaidOutFile{Bytes: size, Content: "abc"}
			}
			if test.summed {
				must(t, d.Sum(t.Context(), files))
				must(t, d.SetLaidOut(files))
				read, err := d.LaidOut()
				must(t, err)
				files = read
			}
			if test.change != nil {
				test.change(t, filepath.Join(d.Path(), "data.1"))
			}
			why, err := d.Differs(t.Context(), files, test.zeros)
			if err != nil || (why == "") != (test.want == "") || !strings.Contains(why, test.want) {
				t.Errorf("%q, %v; want %q", why, err, test.want)
			}
		})
	}
}

// TestChosen checks that the total number of blocks to read is bounded for any number of files.
func TestChosen(t *testing.T) {
	for _, count := range []int{1, 3, 64, 65, 5000} {
		files := LaidOut{}
		for i := range count {
			files[fmt.Sprintf("data.%05d", i)] = LaidOutFile{Bytes: 1 << 30}
		}
		names, each := chooseFiles(files)
		if len(names) != min(count, layoutBlocks) || len(names)*each > layoutBlocks || each < 1 {
			t.Errorf("of %d files %d blocks each of %d", count, each, len(names))
		}
	}
}
