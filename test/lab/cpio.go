package lab

import (
	"fmt"
	"io"
	"os"
	"path"
)

// archive writes an initramfs: a cpio archive in the "newc" format.
type archive struct {
	w     io.Writer
	inode int
	at    int64
	err   error
	// made holds the directories that have been added.
	made map[string]bool
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

// File type bits of the mode of an entry, for directories and links with permissions.
const (
	modeDirectory = 0o040755
	modeLink      = 0o120777
	modeFile      = 0o100000
)

// directory adds a directory and its parents.
func (a *archive) directory(name string) {
	if name == "." || a.made[name] {
		return
	}
	a.directory(path.Dir(name))
	if a.made == nil {
		a.made = map[string]bool{}
	}
	a.made[name] = true
	a.entry(name, modeDirectory, nil)
}

func (a *archive) link(name, target string) {
	a.directory(path.Dir(name))
	a.entry(name, modeLink, []byte(target))
}

func (a *archive) file(name string, mode int, data []byte) {
	a.directory(path.Dir(name))
	a.entry(name, modeFile|mode, data)
}

// program adds a program of this computer.
func (a *archive) program(name, from string) {
	data, err := os.ReadFile(from) // #nosec G304 -- of the test
	if err != nil {
		a.err = err
		return
	}
	a.file(name, 0o755, data)
}

func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}
