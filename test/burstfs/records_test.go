package burstfs_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// compressing returns a store that compresses data and has a practically unlimited bucket. The decrease of the bucket's
// credits is the number of bytes that the store has counted.
func compressing() model.Config {
	return model.Config{
		Compression: &model.Compression{Algorithm: model.CompressionLZ4},
		Buckets: []model.Bucket{{Name: "disk", Counts: model.CountsBytes, CountsStored: true, BaselinePerSecond: 1, BurstPerSecond: 1e12,
			RefillPerSecond: model.Pointer(0), Size: 1e12}},
	}
}

func noise(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	return data
}

func allocated(t *testing.T, name string) int64 {
	t.Helper()
	time.Sleep(1100 * time.Millisecond) // the kernel caches attributes for a second
	info, err := os.Stat(name)
	must(t, err)
	return info.Sys().(*syscall.Stat_t).Blocks * 512
}

// TestCompression requires that the space of files, the bytes that a bucket counts, and the written bytes in the record
// are all sizes after compression.
func TestCompression(t *testing.T) {
	const record = model.DefaultRecordBytes
	random := noise(8 * record)
	half := bytes.Clone(random) // the second half of each record is zero
	for i := range 8 {
		clear(half[i*record+record/2 : (i+1)*record])
	}
	f := burstfs.Mount(t, compressing(), "")
	at := func(name string) string { return filepath.Join(f.Path(), name) }
	sum := int64(0)
	for _, test := range []struct {
		name  string
		data  []byte
		least int64
		most  int64
	}{
		{"random", random, 8 * record, 8 * record},
		{"half", half, 4 * record, 4*record + 8*1024},
		{"zeros", make([]byte, 4*record), 0, 0},
		{"text", bytes.Repeat([]byte("a line of text\n"), record), record / 16, record / 4},
	} {
		must(t, os.WriteFile(at(test.name), test.data, 0o644))
		got := allocated(t, at(test.name))
		sum += got
		if got < test.least || got > test.most {
			t.Errorf("%s: %d bytes take %d, want %d to %d", test.name, len(test.data), got, test.least, test.most)
		}
		if !bytes.Equal(content(t, at(test.name)), test.data) {
			t.Errorf("%s: the content differs", test.name)
		}
	}

	time.Sleep(1100 * time.Millisecond)
	seconds := f.Truth()
	stored := int64(0)
	for _, s := range seconds {
		stored += s.StoredWriteBytes
	}
	// A record that is written in parts is compressed in parts, which may take more space.
	if stored < sum || stored > sum+record {
		t.Errorf("the record has %d stored bytes, the files take %d", stored, sum)
	}
	// Every file was written once and read once.
	if counted := int64(1e12 - seconds[len(seconds)-1].Credits[0]); counted < 2*sum-1 || counted > 2*sum+2*record {
		t.Errorf("%d bytes were counted, and %d written and read", counted, sum)
	}
}

// TestCompressionOfParts checks the space of a file whose records are written in parts, partly overwritten, and
// truncated.
func TestCompressionOfParts(t *testing.T) {
	const record = model.DefaultRecordBytes
	f := burstfs.Mount(t, compressing(), "")
	name := filepath.Join(f.Path(), "file")
	random := noise(2 * record)
	file, err := os.Create(name)
	must(t, err)
	defer file.Close()
	for offset := 0; offset < len(random); offset += 32 << 10 {
		_, err = file.WriteAt(random[offset:offset+32<<10], int64(offset))
		must(t, err)
	}
	if got := allocated(t, name); got != 2*record {
		t.Errorf("two records, written in parts, take %d bytes", got)
	}
	_, err = file.WriteAt(make([]byte, record/2), 0)
	must(t, err)
	if got := allocated(t, name); got < record*3/2 || got > record*3/2+2048 {
		t.Errorf("with zeros in a quarter of it, the file takes %d bytes", got)
	}
	must(t, file.Truncate(record/4))
	if got := allocated(t, name); got != 0 {
		t.Errorf("truncated to zeros, the file takes %d bytes", got)
	}
}

func TestCompressionStays(t *testing.T) {
	f := burstfs.Mount(t, compressing(), "")
	other := compressing()
	other.Compression = nil
	other.Buckets[0].CountsStored = false
	if err := f.FS.Set(other); err == nil {
		t.Error("a store with compressed files accepts a configuration without compression")
	}
	for name, wrong := range map[string]model.Config{
		"without compression": {Buckets: []model.Bucket{{Name: "a", Counts: model.CountsBytes, BaselinePerSecond: 1, CountsStored: true}}},
		"an algorithm":        {Compression: &model.Compression{Algorithm: "best"}},
		"twice": {Compression: &model.Compression{Algorithm: model.CompressionLZ4}, Buckets: []model.Bucket{{Name: "a",
			Counts: model.CountsBytes, BaselinePerSecond: 1, CountsStored: true, CompressionRatio: 2}}},
	} {
		if wrong.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
