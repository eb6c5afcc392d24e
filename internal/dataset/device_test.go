package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeviceWithDataBehindTheMark checks that a mark is trusted only if the bytes between it and the data are zeros.
func TestDeviceWithDataBehindTheMark(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{markBytes, markBytes + 1, DeviceDataOffset - 1} {
		file, err := os.Create(filepath.Join(t.TempDir(), "device"))
		must(t, err)
		t.Cleanup(func() { _ = file.Close() })
		must(t, file.Truncate(8*mib))
		use := DeviceUse{Owner: testOwner(), Bytes: mib, Write: true}
		first := &Device{path: file.Name(), file: file, write: true}
		must(t, first.Use(use))
		must(t, first.SetLaidOut(LaidOut{"data": {Bytes: mib}}, mib))
		again := &Device{path: file.Name(), file: file, write: true}
		must(t, again.Use(use))
		if again.WrittenBytes() != mib {
			t.Errorf("its own mark says %d bytes", again.WrittenBytes())
		}
		mustWriteAt(t, file, []byte{1}, at)
		for _, write := range []bool{true, false} {
			late := &Device{path: file.Name(), file: file, write: write}
			use.Write = write
			err := late.Use(use)
			if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), fmt.Sprintf("at byte %d)", at)) {
				t.Errorf("a byte at %d, write %t: %v", at, write, err)
			}
			if late.WrittenBytes() != 0 {
				t.Errorf("a byte at %d: the mark is believed", at)
			}
		}
	}
}

// TestZeroShare checks the fraction of blocks that contain only zeros, on a device whose first quarter was written.
func TestZeroShare(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "device"))
	must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	must(t, file.Truncate(DeviceDataOffset+4*mib))
	mustWriteAt(t, file, bytes.Repeat([]byte{1}, mib), DeviceDataOffset)
	device := &Device{path: file.Name(), file: file}
	if share, err := device.ZeroShare(4 * mib); err != nil || share != 0.75 {
		t.Errorf("%g of the blocks are zeros, %v; want 0.75", share, err)
	}
	if share, err := device.ZeroShare(64 * mib); !errors.Is(err, io.EOF) {
		t.Errorf("beyond the end: %g, %v", share, err)
	}
}
