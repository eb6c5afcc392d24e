// Package local runs the built program as a user would, on directories of this machine and with real fio. It checks the
// results, what is refused, and that nothing stays behind.
package local
