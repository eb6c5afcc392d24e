package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// progressEvery is how often a line says that a build still goes on.
const progressEvery = 15 * time.Second

// builder builds programs into a cache directory.
type builder struct {
	root     string
	cache    string
	progress io.Writer
}

// get gives the path of a program, built if it is not there.
func (b builder) get(ctx context.Context, program binary) (string, error) {
	path := filepath.Join(b.cache, program.fileName())
	if isProgram(path) {
		return path, nil
	}
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return "", fmt.Errorf("making the folder for %s: %w", program.name, err)
	}
	unlock, err := b.lock(program, path+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if isProgram(path) {
		return path, nil // somebody else has built it meanwhile
	}
	if err := b.build(ctx, program, path); err != nil {
		return "", err
	}
	return path, nil
}

// isProgram says whether a finished build is at a path: a build is renamed to
// it when it is complete.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// lock keeps other processes from building the same program. The kernel drops
// it when the process ends, however that happens.
func (b builder) lock(program binary, path string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of %s: %w", program.name, err)
	}
	descriptor := int(file.Fd())
	if syscall.Flock(descriptor, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		b.say("Waiting for another process that builds %s %s", program.name, program.version)
		if err := syscall.Flock(descriptor, syscall.LOCK_EX); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
	}
	return func() { _ = file.Close() }, nil
}

// build compiles a program and puts it in place when it is complete.
func (b builder) build(ctx context.Context, program binary, path string) error {
	b.say("Building %s %s from its module; the first time this takes about %s", program.name, program.version, program.usual)
	start := time.Now()
	temporary, err := os.MkdirTemp(b.cache, ".build-")
	if err != nil {
		return fmt.Errorf("making a folder to build %s in: %w", program.name, err)
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // nothing depends on it
	output := filepath.Join(temporary, program.name)

	var messages bytes.Buffer
	command := exec.CommandContext(ctx, "go", "build",
		"-C", filepath.Join(b.root, "hack", filepath.FromSlash(program.module)),
		"-trimpath", "-ldflags", program.linkerFlags, "-o", output, program.mainPackage)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	command.Stdout, command.Stderr = &messages, &messages
	stopped := b.tick(program, start)
	err = command.Run()
	stopped()
	if err != nil {
		return fmt.Errorf("building %s %s: %w\n%s", program.name, program.version, err, messages.String())
	}
	if err := os.Rename(output, path); err != nil {
		return fmt.Errorf("putting %s in place: %w", program.name, err)
	}
	b.say("Built %s %s in %s", program.name, program.version, time.Since(start).Round(time.Second))
	return nil
}

// tick says now and then that a build goes on, until the returned function is
// called.
func (b builder) tick(program binary, start time.Time) func() {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				b.say("Still building %s %s after %s", program.name, program.version, time.Since(start).Round(time.Second))
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (b builder) say(format string, arguments ...any) {
	// A line that cannot be written must not stop a build.
	_, _ = fmt.Fprintf(b.progress, format+"\n", arguments...)
}
