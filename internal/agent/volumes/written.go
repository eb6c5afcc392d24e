package volumes

import (
	"context"
	"errors"
	"fmt"
)

// noticeUnsure is the type of the warning about an unknown amount of written data.
const noticeUnsure = "WrittenUnknown"

// Witness states whether the tool, by its own count of completed writes, wrote all of a layout.
type Witness int

const (
	// WroteUnknown means that the tool does not report how much it wrote.
	WroteUnknown Witness = iota
	// WroteAll means that the tool wrote all of the layout.
	WroteAll
	// WroteLess means that the tool wrote less than the layout.
	WroteLess
)

// checkLayout checks the files that a step should have filled. The file system's figures may be outdated while they
// come from an attribute cache. So checkLayout waits for the cache to expire if a file appears too short, or if the
// figures are doubtful and the tool's own count does not show that everything was written. If the figures are still
// doubtful, the tool's count decides; without a count, unsure describes the doubt, for a warning. An error means that a
// file is incomplete or cannot be checked.
func (f *Files) checkLayout(wrote Witness) (unsure string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), f.Mount().Lateness())
	defer cancel()
	for _, file := range f.request.GetDataset().GetWrites() {
		coverage, err := f.Written(file.GetName())
		if err == nil && (coverage.ApparentBytes < file.GetBytes() || coverage.Doubtful && wrote != WroteAll) {
			coverage, err = f.Settled(ctx, file.GetName(), file.GetBytes())
		}
		if err != nil {
			return "", fmt.Errorf("check the layout: %w", err)
		}
		short := fmt.Sprintf("file %s: only %d of %d bytes were written",
			file.GetName(), coverage.WrittenBytes, file.GetBytes())
		switch {
		case coverage.ApparentBytes < file.GetBytes(), !coverage.Complete() && !coverage.Doubtful:
			return "", errors.New(short)
		case coverage.Complete(), wrote == WroteAll:
			f.set.whole.add(f.Dataset, file.GetName(), coverage.ApparentBytes)
		case wrote == WroteLess:
			return "", errors.New(short + ", and the tool reports that it wrote less than requested")
		case unsure == "":
			unsure = fmt.Sprintf("%s, according to its disk usage on %s, which may be out of date or lowered by compression",
				short, f.Mount().FilesystemType)
		}
	}
	return unsure, nil
}

// unwrittenNow returns how many of the bytes that the step may read have provably never been written. If neither the
// file system nor the layouts known to this agent show whether a file was written, unwrittenNow sets f.unsure.
func (f *Files) unwrittenNow() uint64 {
	ctx, cancel := context.WithTimeout(context.Background(), f.Mount().Lateness())
	defer cancel()
	if f.unsure != "" {
		cancel() // Do not wait: the attribute cache has already expired.
	}
	var missing uint64
	unsure := ""
	for _, file := range f.request.GetDataset().GetReads() {
		coverage, err := f.Written(file.GetName())
		if err == nil && coverage.Doubtful {
			if f.isWhole(file.GetName(), coverage.ApparentBytes) {
				continue
			}
			coverage, err = f.Settled(ctx, file.GetName(), 0)
		}
		switch {
		case err != nil || coverage.Complete():
		case !coverage.Doubtful:
			missing += coverage.ApparentBytes - coverage.WrittenBytes
		case unsure == "":
			unsure = fmt.Sprintf("file %s has %d bytes but occupies %d on %s: parts of it may be compressed or "+
				"may never have been written",
				file.GetName(), coverage.ApparentBytes, coverage.BlockBytes, f.Mount().FilesystemType)
		}
	}
	if f.unsure == "" {
		f.unsure = unsure
	}
	return missing
}

// isWhole reports whether a file was laid out completely, either by this agent or according to the directory's record.
func (f *Files) isWhole(name string, bytes uint64) bool {
	if f.set.whole.has(f.Dataset, name, bytes) {
		return true
	}
	known, err := f.set.laidOut.read(f.Dataset)
	noted, found := known[name]
	return err == nil && found && noted.Bytes >= bytes
}
