package dataset

import "golang.org/x/sys/unix"

// sampleFlags prevents following a link, or blocking on a pipe, that took a file's place.
const sampleFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK
