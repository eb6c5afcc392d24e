package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// SchemaVersion is that of every JSON document that the project prints.
const SchemaVersion = 1

// Document is a run as JSON: the BenchmarkRun's status with the names of run and benchmark and with
// what was run. Fields are added over time; those that are there stay.
type Document struct {
	SchemaVersion int    `json:"schemaVersion"`
	Benchmark     string `json:"benchmark"`
	Namespace     string `json:"namespace,omitempty"`
	Run           string `json:"run"`
	RunUID        string `json:"runUID,omitempty"`
	// Version is that of the storagebench that made the document.
	Version string `json:"storagebenchVersion"`
	v1alpha1.BenchmarkRunStatus
	Spec v1alpha1.BenchmarkRunSpec `json:"spec"`
}

// NewDocument makes the document of a run.
func NewDocument(run *v1alpha1.BenchmarkRun, version string) Document {
	return Document{
		SchemaVersion:      SchemaVersion,
		Benchmark:          run.Spec.BenchmarkRef.Name,
		Namespace:          run.Namespace,
		Run:                run.Name,
		RunUID:             string(run.UID),
		Version:            version,
		BenchmarkRunStatus: run.Status,
		Spec:               run.Spec,
	}
}

// JSON writes the document, indented.
func JSON(w io.Writer, document Document) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Read reads what JSON wrote.
func Read(r io.Reader) (Document, error) {
	const limit = 64 << 20
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return Document{}, fmt.Errorf("read a report: %w", err)
	}
	if len(text) > limit {
		return Document{}, fmt.Errorf("it is no result of `run -o json`: it has more than %d bytes", limit)
	}
	var document Document
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil {
		return Document{}, fmt.Errorf("it is no result of `run -o json`: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Document{}, errors.New("it is no result of `run -o json`: something follows the result; give one result a file")
	}
	if document.SchemaVersion != SchemaVersion {
		return Document{}, fmt.Errorf("it is no result of `run -o json`: schemaVersion is %d, not %d", document.SchemaVersion, SchemaVersion)
	}
	if document.Run == "" || document.Benchmark == "" {
		return Document{}, errors.New("it is no result of `run -o json`: it names no run or no benchmark")
	}
	return document, nil
}
