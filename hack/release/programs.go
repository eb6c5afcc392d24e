package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const stamped = "github.com/storagebench/storagebench/internal/version.stamped"

// program builds a program for a platform, unless it is already built, and returns the program's path. The output is
// the same on every machine, because it does not depend on the path of the sources, the Git state or the machine's Go
// settings.
func (r release) program(ctx context.Context, p platform, name string) (string, error) {
	file := filepath.Join(r.programs, p.os, p.arch, name)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X "+stamped+"="+r.version, "-o", file, "./cmd/"+name)
	command.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off",
		"GOEXPERIMENT=")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s for %s: %w\n%s", name, p, err, out)
	}
	return file, nil
}

// goVersion returns the version of the Go compiler.
func goVersion(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("query the version of Go: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
