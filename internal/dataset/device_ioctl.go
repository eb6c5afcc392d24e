package dataset

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ioctlRange applies an ioctl to a range of bytes of a device. It ignores errors, because the caller checks the result.
func ioctlRange(file *os.File, request uintptr, from, length int64) {
	span := [2]uint64{uint64(from), uint64(length)}                                            //nolint:gosec // Not negative.
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, file.Fd(), request, uintptr(unsafe.Pointer(&span))) //nolint:gosec // The kernel's own interface.
}
