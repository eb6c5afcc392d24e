package dataset

import "golang.org/x/sys/unix"

// sampleFlags makes opening a file fail if a symbolic link has replaced it, and not block if a pipe has.
const sampleFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK
