package fio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// collect feeds an output to a Stream in pieces and returns the documents that it found as text.
func collect(output []byte, piece int) string {
	var stream Stream
	var found strings.Builder
	for len(output) > 0 {
		n := min(piece, len(output))
		_, _ = stream.Write(output[:n])
		output = output[n:]
		for _, document := range stream.Documents() {
			fmt.Fprintf(&found, "%d+%d %v\n", document.Offset, document.Length, document.Jobs[0].Operations[0].Counter)
		}
	}
	closed := stream.Close()
	fmt.Fprintf(&found, "%d %v %v %v %q %q %d", closed.Documents, closed.Damaged, closed.DamagedAfterLast, closed.Partial,
		closed.Noise, closed.NoiseAfterLast, closed.Bytes)
	return found.String()
}

func TestStreamInAnyPieces(t *testing.T) {
	t.Parallel()
	for _, run := range recordings(t) {
		whole := collect(run.stdout, len(run.stdout)+1)
		for _, piece := range []int{1, 7, 4096, 65536} {
			if got := collect(run.stdout, piece); got != whole {
				t.Fatalf("%s in pieces of %d:\n%s\nwant\n%s", run.name, piece, got, whole)
			}
		}
	}
}

func TestStreamGivesDocumentsAtOnce(t *testing.T) {
	t.Parallel()
	output := readRecording(t, "sigint").stdout
	end := bytes.Index(output, []byte("\n}\n")) + 2
	var stream Stream
	_, _ = stream.Write(output[:end-1])
	if early := stream.Documents(); len(early) != 0 {
		t.Fatalf("%d documents before the last byte", len(early))
	}
	_, _ = stream.Write(output[end-1 : end])
	if found := stream.Documents(); len(found) != 1 || found[0].Length != end {
		t.Fatalf("%d documents with the last byte", len(found))
	}
}

// TestStreamAroundNoise checks that noise around a document does not change it.
func TestStreamAroundNoise(t *testing.T) {
	t.Parallel()
	run := readRecording(t, "write")
	want, err := Decode(bytes.TrimSpace(run.stdout))
	if err != nil {
		t.Fatal(err)
	}
	for _, noise := range []string{
		"", "\n", "hello\n", "{", "{{{{", `{"`, "{\"a\n", `{"a":`, `{"a":{`, "[{", "}", "}}}", `"`, "\\", "\x00\xff{", `{"a":[1,2,{"b":`,
		"{\"fio version\" : \"fio-3.33\",\n\"jobs\" : [\n", "\n{\n  \"fio version\" : \"fi", strings.Repeat("\n{\"a\":", 100),
		"fio: terminating on signal 2\n", "{}", "[]", `{"a":1}`, "\r\n",
	} {
		for _, twice := range []bool{false, true} {
			output := noise + string(run.stdout)
			if twice {
				output += noise + string(run.stdout)
			}
			read, err := ReadOutput(iotest.HalfReader(strings.NewReader(output)))
			if err != nil {
				t.Fatal(err)
			}
			if read.Last == nil {
				t.Errorf("noise %q: no document; %v", noise, read.Damaged)
				continue
			}
			if read.Last.Jobs[0].Operations[measure.Write].Counter != want.Jobs[0].Operations[measure.Write].Counter {
				t.Errorf("noise %q: another document", noise)
			}
			if read.DamagedAfterLast || read.NoiseAfterLast != "" || read.Partial {
				t.Errorf("noise %q before the document counts as after it", noise)
			}
		}
	}
}

func TestStreamTellsTruncation(t *testing.T) {
	t.Parallel()
	output := bytes.TrimSpace(readRecording(t, "write").stdout)
	for cut := 20; cut < len(output); cut += 97 {
		read, err := ReadOutput(bytes.NewReader(output[:cut]))
		if err != nil {
			t.Fatal(err)
		}
		if read.Documents != 0 || !read.Partial || !read.DamagedAfterLast {
			t.Fatalf("cut at %d: %+v", cut, read)
		}
	}
}

// endless is a reader that repeats a byte pattern forever.
type endless struct{ pattern string }

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e.pattern)
	}
	return n, nil
}

// TestStreamIsBounded checks that hostile output of any length needs bounded memory and linear time.
func TestStreamIsBounded(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"{", `{"`, "\n{\"a\":", `{"a":`, "[", "\"", "\n{}", "noise\n", "\n{\"a\":[", "\n{\"a\":1}"} {
		var stream Stream
		if _, err := io.Copy(&stream, io.LimitReader(endless{pattern}, 1<<20)); err != nil {
			t.Fatal(err)
		}
		if len(stream.pending) > 4096 {
			t.Errorf("%q: %d bytes are kept", pattern, len(stream.pending))
		}
		output := stream.Close()
		if len(output.Damaged) > maxDamages || len(output.Noise) > 4*engine.ClippedHalf || output.Documents != 0 {
			t.Errorf("%q: %d damages, %d bytes of noise", pattern, len(output.Damaged), len(output.Noise))
		}
	}
}

func TestStreamRefusesTooLargeADocument(t *testing.T) {
	t.Parallel()
	var stream Stream
	_, _ = stream.Write([]byte(`{"fio version":"`))
	if _, err := io.Copy(&stream, io.LimitReader(endless{"x"}, maxDocumentBytes)); err != nil {
		t.Fatal(err)
	}
	good := readRecording(t, "write").stdout
	_, _ = stream.Write(append([]byte("\n"), good...))
	output := stream.Close()
	if len(output.Damaged) == 0 || !errors.Is(output.Damaged[0].Err, errTooLarge) || output.Documents != 1 {
		t.Errorf("%v, %d documents", output.Damaged, output.Documents)
	}
}
