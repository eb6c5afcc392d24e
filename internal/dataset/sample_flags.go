package dataset

import "golang.org/x/sys/unix"

// sampleFlags: a link in the place of a file is not followed, and a pipe is not waited for.
const sampleFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK
