package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// These limits keep the check of laid-out files short, because reading spends credits, and a slow share reads only 30
// MB/s.
const (
	blockBytes = 64 << 10
	// layoutBlocks limits the blocks read from all files together, to 4 MiB in total.
	layoutBlocks = 64
	// fileBlocks limits the blocks read from one file.
	fileBlocks = 16
)

// blockOffsets returns the offsets to read in a file: evenly spaced, including the first and the last block.
func blockOffsets(bytes uint64, count int) []int64 {
	if bytes <= blockBytes || count < 2 {
		return []int64{0}
	}
	last := int64(bytes - blockBytes) // #nosec G115 -- file sizes fit an int64
	offsets := make([]int64, count)
	for i := range offsets {
		offsets[i] = last / int64(count-1) * int64(i) &^ 4095
	}
	offsets[count-1] = last
	return slices.Compact(offsets)
}

// chooseFiles selects the files to read, at most layoutBlocks of them, and returns the number of blocks to read from
// each.
func chooseFiles(files LaidOut) (names []string, each int) {
	names = slices.Sorted(maps.Keys(files))
	if len(names) > layoutBlocks {
		some := make([]string, layoutBlocks)
		for i := range some {
			some[i] = names[i*len(names)/layoutBlocks]
		}
		names = some
	}
	return names, min(fileBlocks, max(1, layoutBlocks/max(1, len(names))))
}

// Sum reads some blocks of each laid-out file and stores their checksums in Blocks of the file's entry, so that a later
// run can check that the content is unchanged.
func (d *Dataset) Sum(ctx context.Context, files LaidOut) error {
	names, each := chooseFiles(files)
	for _, name := range names {
		file := files[name]
		sums := make([]string, 0, each)
		err := d.eachBlock(ctx, name, blockOffsets(file.Bytes, each), func(_ int64, block []byte) {
			sums = append(sums, sumOf(block))
		})
		if err != nil {
			return err
		}
		file.Blocks = strings.Join(sums, " ")
		files[name] = file
	}
	return nil
}

func sumOf(block []byte) string {
	sum := sha256.Sum256(block)
	return hex.EncodeToString(sum[:8])
}

// Differs reads blocks of laid-out files and describes the first block with unexpected content. The result is empty if
// there is none. If checksums of a file were recorded, its blocks must match them. Otherwise, no block may be all
// zeros, unless the workload writes zeros. Space that was reserved but never written, or whose data the file system
// lost, reads as zeros.
func (d *Dataset) Differs(ctx context.Context, files LaidOut, zeros bool) (string, error) {
	names, each := chooseFiles(files)
	for _, name := range names {
		file := files[name]
		sums := strings.Fields(file.Blocks)
		offsets := blockOffsets(file.Bytes, each)
		if len(sums) > 0 && len(sums) != len(offsets) {
			// The checksums were recorded for a different number of blocks per file, so read the blocks that they
			// describe.
			offsets = blockOffsets(file.Bytes, len(sums))
		}
		why, at := "", 0
		err := d.eachBlock(ctx, name, offsets, func(offset int64, block []byte) {
			switch {
			case why != "":
			case at < len(sums) && sums[at] != sumOf(block):
				why = fmt.Sprintf("file %s was modified at offset %d since the previous run", name, offset)
			case len(sums) == 0 && !zeros && allZero(block):
				why = fmt.Sprintf("file %s contains zeros at offset %d, but the workload does not write zeros", name, offset)
			}
			at++
		})
		if err != nil || why != "" {
			return why, err
		}
	}
	return "", nil
}

func allZero(block []byte) bool {
	return !slices.ContainsFunc(block, func(b byte) bool { return b != 0 })
}

// eachBlock reads the blocks of a file at the given offsets and calls visit with each. It then drops each block from
// the page cache, so that a later step does not read it from memory.
func (d *Dataset) eachBlock(ctx context.Context, name string, offsets []int64, visit func(offset int64, block []byte)) error {
	file, err := d.open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	buffer := make([]byte, blockBytes)
	for _, offset := range offsets {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := file.ReadAt(buffer, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s at offset %d: %w", name, offset, err)
		}
		visit(offset, buffer[:n])
		forget(file, offset)
	}
	return nil
}

// forget drops a block from the page cache if the file system supports that.
func forget(file *os.File, offset int64) {
	_ = unix.Fadvise(int(file.Fd()), offset&^4095, blockBytes+4096, unix.FADV_DONTNEED)
}
