package dataset

import "golang.org/x/sys/unix"

// sampleFlags are flags for opening a file that may have been replaced after it was listed. Opening a symbolic link
// fails, and opening a pipe does not block.
const sampleFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK
