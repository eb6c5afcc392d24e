// Package local runs the built program as a user would, on directories of this machine, with real
// fio, and checks what comes out, what is refused, and that nothing stays behind.
package local
