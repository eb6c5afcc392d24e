package ior

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// recording is a recorded run of the real tool.
type recording struct {
	name           string
	stdout, stderr string
	command        string
	code           int
}

func recordings(t testing.TB) []recording {
	t.Helper()
	files, err := filepath.Glob("testdata/runs/*/*.cmd")
	if err != nil || len(files) < 30 {
		t.Fatalf("only %d recorded runs: %v", len(files), err)
	}
	all := make([]recording, 0, len(files))
	exit := regexp.MustCompile(`exit=([0-9]+)`)
	for _, file := range files {
		base := strings.TrimSuffix(file, ".cmd")
		command, found := readFile(t, file), 0
		if match := exit.FindStringSubmatch(command); match != nil {
			found, err = strconv.Atoi(match[1])
			if err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, recording{
			name: strings.TrimPrefix(base, "testdata/runs/"), stdout: readFile(t, base+".out"), stderr: readFile(t, base+".err"),
			command: command, code: found,
		})
	}
	return all
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name) // #nosec G304 -- a file of testdata
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (r recording) mdtest() bool { return strings.Contains(r.name, "mdtest") }

func inJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintln(string(text))
}
