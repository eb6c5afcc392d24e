package dataset

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	holeProbe = ".storagebench-hole"
	// holeBytes is the length of the hole that is tried; no file system has larger blocks.
	holeBytes = 8 << 20
)

// showsHoles reports whether the file system tells a hole, by trying one in a file of its own. Where it does, a file that is
// all data by its word is believed to be, although it takes less space than is in it: it is compressed, as a
// store behind FUSE or NFS may do. Where that cannot be tried it is false.
func (d *Dataset) showsHoles() bool {
	d.holes.Do(func() { d.holesShow = triedHole(d.client) })
	return d.holesShow
}

func triedHole(in *directory) bool {
	_ = in.root.Remove(holeProbe) // of one that was killed
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
