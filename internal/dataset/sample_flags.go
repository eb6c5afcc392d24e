package dataset

import "golang.org/x/sys/unix"

// sampleFlags are flags for opening a file: if a symbolic link has replaced the file, opening fails; if a pipe has, it
// does not block.
const sampleFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK
