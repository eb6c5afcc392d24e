package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestFilesAreCurrent(t *testing.T) {
	role, err := os.ReadFile("../../rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(role)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what is made: run `make generate`", name)
		}
	}
}

func TestNotARole(t *testing.T) {
	for _, text := range []string{"kind: Role\n", "no: role\n", ""} {
		if _, err := Files([]byte(text)); err == nil {
			t.Errorf("%q is taken for a ClusterRole", text)
		}
	}
}
