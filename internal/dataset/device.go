package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// DeviceDataOffset is the offset of the data on a raw device. The space before it contains the mark, a record of
	// who uses the device.
	DeviceDataOffset = 1 << 20
	markBytes        = 4096
	markMagic        = "storagebench raw device\n"
)

// DeviceUse describes who uses a raw device and how much of it.
type DeviceUse struct {
	Owner  Owner
	Client int
	// Bytes is the maximum number of bytes after DeviceDataOffset that the step may use.
	Bytes uint64
	// Write allows writing to the device. If it is false, neither data nor a mark is written.
	Write bool
}

// mark is the record at the beginning of a device that storagebench uses. It is written before any data and erased
// after the data has been discarded.
type mark struct {
	Owner
	Client int `json:"client"`
	// ReachBytes is the number of bytes after DeviceDataOffset that may have been written. WrittenBytes is the number of
	// bytes after DeviceDataOffset that have been written without a gap.
	ReachBytes   uint64  `json:"reachBytes"`
	WrittenBytes uint64  `json:"writtenBytes"`
	Files        LaidOut `json:"files,omitempty"`
}

// Device is an open raw block device. It is opened exclusively (O_EXCL), so the kernel cannot mount it or use it in
// another way while it is open.
type Device struct {
	path  string
	file  *os.File
	size  int64
	write bool
	mark  mark
	// gapBlank is true after the bytes between the mark and the data were verified to be zero.
	gapBlank bool
}

// OpenDevice opens a device for the given use. If the kernel or another agent uses the device, for example as a mounted
// volume, OpenDevice retries until ctx is done and then returns ErrHeld. If the use includes writing, the device must
// be empty or carry the mark of the same benchmark and client; otherwise the error is ErrForeign and names the data
// that was found.
func OpenDevice(ctx context.Context, path string, use DeviceUse) (*Device, error) {
	file, err := openExclusive(ctx, path, use.Write)
	if err != nil {
		return nil, err
	}
	d := &Device{path: path, file: file, write: use.Write}
	if err := d.Use(use); err != nil {
		_ = file.Close()
		return nil, err
	}
	return d, nil
}

// DeviceIsMarked reports whether a device carries the mark of the given run and client. A mark of another run of the
// benchmark does not count, because that run may have retained its data.
func DeviceIsMarked(path string, owner Owner, client int) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, classify(path, "open", err)
	}
	defer func() { _ = file.Close() }()
	d := &Device{path: path, file: file}
	if d.size, err = file.Seek(0, 2); err != nil {
		return false, classify(path, "measure", err)
	}
	found, err := d.readMark()
	return found != nil && found.RunUID == owner.RunUID && found.Client == client, err
}

func openExclusive(ctx context.Context, path string, write bool) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, classify(path, "inspect", err)
	}
	if info.Mode()&(fs.ModeDevice|fs.ModeCharDevice) != fs.ModeDevice {
		return nil, &Problem{Reason: ErrNotDevice, Path: path, Remedy: "use a claim with volumeMode Block"}
	}
	flags := os.O_RDONLY
	if write {
		flags = os.O_RDWR
	}
	for {
		file, err := os.OpenFile(path, flags|unix.O_EXCL, 0)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return nil, classify(path, "open", err)
		}
		select {
		case <-time.After(heldPause):
		case <-ctx.Done():
			return nil, &Problem{Reason: ErrHeld, Path: path, Cause: err, Detail: "it is mounted, part of another device, or in use by another client",
				Remedy: "unmount it, or use another device"}
		}
	}
}

// Use checks that the device may be used as requested, and writes the mark if the use includes writing. OpenDevice
// calls Use. Call Use again before using the open device for another purpose.
func (d *Device) Use(use DeviceUse) error {
	size, err := d.file.Seek(0, 2)
	if err != nil {
		return classify(d.path, "measure", err)
	}
	d.size = size
	if need := uint64(DeviceDataOffset) + use.Bytes; uint64(max(size, 0)) < need {
		free := uint64(max(size-DeviceDataOffset, 0))
		return &SpaceError{Path: d.path, NeedBytes: use.Bytes, FreeBytes: free}
	}
	found, err := d.readMark()
	if err != nil {
		return err
	}
	switch {
	case found == nil && !use.Write:
		return nil
	case found == nil:
		if err := d.proveEmpty(); err != nil {
			return err
		}
		found = &mark{Owner: use.Owner, Client: use.Client}
		found.SchemaVersion = schemaVersion
	case found.BenchmarkUID != use.Owner.BenchmarkUID || found.Client != use.Client || found.SchemaVersion != schemaVersion:
		return &Problem{Reason: ErrForeign, Path: d.path,
			Detail: fmt.Sprintf("it is marked as used by client %d of benchmark %q (UID %s), run %q", found.Client, found.Benchmark, found.BenchmarkUID, found.Run),
			Remedy: "wait for that run, or wipe the device if its content is not needed (blkdiscard, or dd from /dev/zero)"}
	}
	if err := d.proveGap(); err != nil {
		return err
	}
	d.mark = *found
	if !use.Write {
		return nil
	}
	d.mark.ReachBytes = max(d.mark.ReachBytes, use.Bytes)
	d.mark.RunUID, d.mark.Run = use.Owner.RunUID, use.Owner.Run
	return d.writeMark()
}

// proveEmpty returns an error if the device contains data. It only samples a large device; see firstData.
func (d *Device) proveEmpty() error {
	const remedy = "nothing was written; use an empty device, or wipe this one if its content is not needed (wipefs -a and blkdiscard, or dd from /dev/zero)"
	name, err := findSignature(d.file, d.size)
	if err != nil {
		return classify(d.path, "search for data on", err)
	}
	if name != "" {
		return &Problem{Reason: ErrForeign, Path: d.path, Detail: "it contains " + name, Remedy: remedy}
	}
	at, err := firstData(d.file, 0, d.size)
	if err != nil {
		return classify(d.path, "search for data on", err)
	}
	if at >= 0 {
		return &Problem{Reason: ErrForeign, Path: d.path, Detail: fmt.Sprintf("unknown data at byte %d", at), Remedy: remedy}
	}
	return nil
}

// proveGap returns an error if the device contains data between the mark and the run's data. storagebench writes
// nothing there, so such data means that another program has written to the device since it was marked. proveGap reads
// the gap only once, because the device is opened exclusively.
func (d *Device) proveGap() error {
	if d.gapBlank {
		return nil
	}
	at, err := firstNonzero(d.file, markBytes, DeviceDataOffset-markBytes)
	if err != nil {
		return classify(d.path, "search for data on", err)
	}
	if at >= 0 {
		return &Problem{Reason: ErrForeign, Path: d.path,
			Detail: fmt.Sprintf("it has storagebench's ownership mark, but also unknown data at byte %d", at),
			Remedy: "nothing was written; wipe the device if its content is not needed (blkdiscard, or dd from /dev/zero)"}
	}
	d.gapBlank = true
	return nil
}

// readMark returns the mark of the device, or nil if there is none.
func (d *Device) readMark() (*mark, error) {
	if d.size < DeviceDataOffset {
		return nil, nil //nolint:nilnil // The device is too small for a mark.
	}
	text := make([]byte, markBytes)
	if _, err := d.file.ReadAt(text, 0); err != nil {
		return nil, classify(d.path, "read", err)
	}
	text, is := bytes.CutPrefix(text, []byte(markMagic))
	if !is {
		return nil, nil //nolint:nilnil // There is no mark.
	}
	var found mark
	if err := json.Unmarshal(bytes.TrimRight(text, "\x00"), &found); err != nil {
		return nil, &Problem{Reason: ErrForeign, Path: d.path, Detail: "its mark is damaged", Cause: err,
			Remedy: "wipe the device if its content is not needed (blkdiscard, or dd from /dev/zero)"}
	}
	return &found, nil
}

func (d *Device) writeMark() error {
	text, err := json.Marshal(d.mark)
	if err != nil {
		return fmt.Errorf("encode the device's ownership mark: %w", err)
	}
	text = append([]byte(markMagic), text...)
	if len(text) > markBytes {
		return fmt.Errorf("the ownership mark of %s needs %d bytes, but the limit is %d", d.path, len(text), markBytes)
	}
	return d.put(append(text, make([]byte, markBytes-len(text))...))
}

func (d *Device) put(text []byte) error {
	_, err := d.file.WriteAt(text, 0)
	if err == nil {
		err = d.file.Sync()
	}
	return classify(d.path, "write the mark of", err)
}

// Path returns the path of the device file, for the tool.
func (d *Device) Path() string { return d.path }

// File returns the open device, which can be passed to the tools so that the device stays in use until the last of them
// has exited.
func (d *Device) File() *os.File { return d.file }

// WrittenBytes returns how many bytes after DeviceDataOffset have been written without a gap, according to the mark.
func (d *Device) WrittenBytes() uint64 { return d.mark.WrittenBytes }

// LaidOut returns the files that are laid out, as Dataset.LaidOut does.
func (d *Device) LaidOut() LaidOut { return maps.Clone(d.mark.Files) }

// SetLaidOut records which files are laid out and how many bytes are written. The written bytes never decrease.
func (d *Device) SetLaidOut(files LaidOut, writtenBytes uint64) error {
	if !d.write {
		return &Problem{Reason: ErrReadOnly, Path: d.path, Remedy: "set allowRawDeviceWrites in the target"}
	}
	d.mark.Files, d.mark.WrittenBytes = files, max(d.mark.WrittenBytes, writtenBytes)
	return d.writeMark()
}

// ZeroShare reads 64 blocks of 4 KiB, evenly spaced over the given number of bytes after DeviceDataOffset, and returns
// the fraction of the blocks that contain only zeros. A device without our mark has no record of what was written, so
// nonzero blocks are the only evidence of written data.
func (d *Device) ZeroShare(bytes uint64) (float64, error) {
	zero := 0
	const looks = 64
	share := int64(bytes) / looks //nolint:gosec // Within the device's size.
	for i := range int64(looks) {
		block := make([]byte, 4096)
		if _, err := d.file.ReadAt(block, (DeviceDataOffset+i*share)/4096*4096); err != nil {
			return 0, classify(d.path, "read", err)
		}
		if allZero(block) {
			zero++
		}
	}
	return float64(zero) / looks, nil
}

// Clear discards the written data, if the device supports that, and erases the mark. It returns true if it still finds
// data afterwards. Clear changes nothing if the device was opened for reading only or does not carry our mark.
func (d *Device) Clear() (leaves bool, err error) {
	found, err := d.readMark()
	if err != nil || found == nil || !d.write || found.BenchmarkUID != d.mark.BenchmarkUID || found.Client != d.mark.Client {
		return false, err
	}
	length := int64(found.ReachBytes) //nolint:gosec // Within the device's size.
	if length > 0 {
		d.discard(DeviceDataOffset, min(length, d.size-DeviceDataOffset))
		at, err := firstData(d.file, DeviceDataOffset, d.size)
		if err != nil {
			return true, classify(d.path, "search for remaining data on", err)
		}
		leaves = at >= 0
	}
	return leaves, d.put(make([]byte, markBytes))
}

// discard removes the data of a region. It zeroes the region if the device supports that, and otherwise tries to
// discard it.
func (d *Device) discard(from, length int64) {
	if unix.Fallocate(int(d.file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, length) == nil {
		return
	}
	ioctlRange(d.file, unix.BLKDISCARD, from, length)
}

// Close releases the device, so that waiting processes can use it.
func (d *Device) Close() error {
	if err := d.file.Close(); err != nil {
		return classify(d.path, "close", err)
	}
	return nil
}
