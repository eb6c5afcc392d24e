package lab

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// archive writes an initramfs: cpio in the format "newc".
type archive struct {
	w     io.Writer
	inode int
	at    int64
	err   error
}

func (a *archive) write(data []byte) {
	if a.err != nil {
		return
	}
	var n int
	n, a.err = a.w.Write(data)
	a.at += int64(n)
}

func (a *archive) pad() { a.write(make([]byte, (4-a.at%4)%4)) }

func (a *archive) entry(name string, mode int, data []byte) {
	a.inode++
	a.write(fmt.Appendf(nil, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0))
	a.write(append([]byte(name), 0))
	a.pad()
	a.write(data)
	a.pad()
}

// Kinds of entries.
const (
	modeDirectory = 0o040755
	modeLink      = 0o120777
	modeProgram   = 0o100755
)

func (a *archive) directory(name string)    { a.entry(name, modeDirectory, nil) }
func (a *archive) link(name, target string) { a.entry(name, modeLink, []byte(target)) }

// file adds a file of this machine; links are followed.
func (a *archive) file(name, from string) {
	data, err := os.ReadFile(from)
	if err != nil {
		a.err = err
		return
	}
	a.text(name, data)
}

// text adds a file, and the directories above it.
func (a *archive) text(name string, data []byte) {
	parts := strings.Split(filepath.Dir(name), "/")
	for i := range parts {
		if above := strings.Join(parts[:i+1], "/"); above != "." {
			a.directory(above)
		}
	}
	a.entry(name, modeProgram, data)
}

func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}
