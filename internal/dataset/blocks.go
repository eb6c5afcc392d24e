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

// Bounds of a look into files that are laid out. It spends credits, and a slow share gives 30 MB a second.
const (
	blockBytes = 64 << 10
	// layoutBlocks of all files together are looked at: 4 MiB.
	layoutBlocks = 64
	// fileBlocks of one file are, at most.
	fileBlocks = 16
)

// blockOffsets are the places in a file that are looked at: evenly spread, its first and its last among them.
func blockOffsets(bytes uint64, count int) []int64 {
	if bytes <= blockBytes || count < 2 {
		return []int64{0}
	}
	last := int64(bytes - blockBytes) // #nosec G115 -- No file is that large.
	offsets := make([]int64, count)
	for i := range offsets {
		offsets[i] = last / int64(count-1) * int64(i) &^ 4095
	}
	offsets[count-1] = last
	return slices.Compact(offsets)
}

// chosen are the files of which blocks are looked at, and how many of each. Of very many some are.
func chosen(files LaidOut) (names []string, each int) {
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

// Sum notes what some blocks of laid out files hold, so that a later run can tell whether they are what was written.
// What it says of other files stays.
func (d *Dataset) Sum(ctx context.Context, files LaidOut) error {
	names, each := chosen(files)
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

// Differs looks into laid out files and tells in words what is not as it was written; empty where nothing shows. Blocks
// that were summed must be the same to the bit. Others must not be zeros, unless the load writes such: space that was
// reserved and never written reads so, and so does what a file system has lost.
func (d *Dataset) Differs(ctx context.Context, files LaidOut, zeros bool) (string, error) {
	names, each := chosen(files)
	for _, name := range names {
		file := files[name]
		sums := strings.Fields(file.Blocks)
		offsets := blockOffsets(file.Bytes, each)
		if len(sums) > 0 && len(sums) != len(offsets) {
			// It was summed among another number of files.
			offsets = blockOffsets(file.Bytes, len(sums))
		}
		why, at := "", 0
		err := d.eachBlock(ctx, name, offsets, func(offset int64, block []byte) {
			switch {
			case why != "":
			case at < len(sums) && sums[at] != sumOf(block):
				why = fmt.Sprintf("file %s holds something else at %d than when it was left", name, offset)
			case len(sums) == 0 && !zeros && allZero(block):
				why = fmt.Sprintf("file %s holds zeros at %d, which the workload does not write", name, offset)
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

// eachBlock reads blocks of a file, and has this machine forget them: a step that follows would find them in memory.
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
			return fmt.Errorf("read %s at %d: %w", name, offset, err)
		}
		visit(offset, buffer[:n])
		forget(file, offset)
	}
	return nil
}

// forget drops what was read of a file from memory, where the file system can.
func forget(file *os.File, offset int64) {
	_ = unix.Fadvise(int(file.Fd()), offset&^4095, blockBytes+4096, unix.FADV_DONTNEED)
}
