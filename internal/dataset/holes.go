package dataset

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	holeProbe = ".storagebench-hole"
	// holeBytes is the length of the hole in the scratch file. No file system has larger blocks, so any file system that
	// supports holes can represent it.
	holeBytes = 8 << 20
)

// probeHoles creates a scratch file with a hole to find out whether the file system reports holes. If it does, a file
// without reported holes counts as completely written even if it occupies less space than its size, because storage
// behind FUSE or NFS may compress. The result is false if the probe fails.
func (d *Dataset) probeHoles() bool {
	d.holes.Do(func() { d.holesShow = probeHole(d.client) })
	return d.holesShow
}

func probeHole(in *directory) bool {
	_ = in.root.Remove(holeProbe) // remove a scratch file that a killed process left
	file, err := in.root.OpenFile(holeProbe, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	defer func() {
		_ = file.Close()
		_ = in.root.Remove(holeProbe)
	}()
	if _, err := file.WriteAt([]byte{1}, holeBytes); err != nil {
		return false
	}
	data, err := unix.Seek(int(file.Fd()), 0, unix.SEEK_DATA)
	return err == nil && data > 0 && data <= holeBytes
}
