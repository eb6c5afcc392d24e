package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/series"
)

// SchemaVersion is the schema version of every JSON document that the project prints.
const SchemaVersion = 1

// Document is a run as JSON: the status of the BenchmarkRun, the names of the run and the benchmark, and the
// specification that was run. Later versions may add fields but do not remove any.
type Document struct {
	SchemaVersion int    `json:"schemaVersion"`
	Benchmark     string `json:"benchmark"`
	Namespace     string `json:"namespace,omitempty"`
	Run           string `json:"run"`
	RunUID        string `json:"runUID,omitempty"`
	// Version is the version of storagebench that began the run. A newer operator may have continued it.
	Version string `json:"storagebenchVersion"`
	v1alpha1.BenchmarkRunStatus
	Spec v1alpha1.BenchmarkRunSpec `json:"spec"`
	// ObjectivesChanged is true if the benchmark's objectives have changed since the run. The document then contains the
	// current objectives, their verdicts and the resulting ObjectivesMet condition instead of the run's own.
	ObjectivesChanged bool `json:"objectivesChanged,omitempty"`
	// Series is the run's data over time, compressed and base64-encoded. `report -o csv` decodes it. Series is omitted
	// if the data is not available.
	Series *series.Log `json:"series,omitempty"`
}

// With returns a copy of the document with the given series. If the series are empty, the copy contains no series.
func (d Document) With(over *series.Log) Document {
	d.Series = nil
	if !over.Empty() {
		d.Series = over
	}
	return d
}

// NewDocument returns the document of a run that the given version of storagebench conducted. If version is empty,
// NewDocument uses the version of the agents with which the run began.
func NewDocument(run *v1alpha1.BenchmarkRun, version string) Document {
	for _, e := range run.Status.Environments {
		version = cmp.Or(version, e.AgentVersion)
	}
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

// JSON writes the document as indented JSON.
func JSON(w io.Writer, document Document) error {
	return writeJSON(w, "the report", document)
}

func writeJSON(w io.Writer, what string, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// Read reads a document that JSON wrote, or a BenchmarkRun as `kubectl get benchmarkrun NAME -o json` prints it. Either
// can also be in YAML.
func Read(r io.Reader) (Document, error) {
	const limit = 64 << 20
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return Document{}, fmt.Errorf("read a report: %w", err)
	}
	if len(text) > limit {
		return Document{}, noResult("the input is larger than %d bytes", limit)
	}
	if text, err = asJSON(text); err != nil {
		return Document{}, err
	}
	var kind metav1.TypeMeta
	if err := decode(text, &kind); err != nil {
		return Document{}, err
	}
	if kind.Kind != "" {
		return readObject(text, kind)
	}
	var document Document
	if err := decode(text, &document); err != nil {
		return Document{}, err
	}
	if document.SchemaVersion != SchemaVersion {
		return Document{}, noResult("schemaVersion is %d, but must be %d", document.SchemaVersion, SchemaVersion)
	}
	if document.Run == "" || document.Benchmark == "" {
		return Document{}, noResult("no run or benchmark name")
	}
	return document, nil
}

// readObject converts a BenchmarkRun of a cluster to a document.
func readObject(text []byte, kind metav1.TypeMeta) (Document, error) {
	if kind.APIVersion != v1alpha1.GroupVersion.String() || kind.Kind != v1alpha1.BenchmarkRunKind {
		return Document{}, noResult("the input is a %s (%s): specify one BenchmarkRun (%s)",
			kind.Kind, kind.APIVersion, v1alpha1.GroupVersion)
	}
	var run v1alpha1.BenchmarkRun
	if err := decode(text, &run); err != nil {
		return Document{}, err
	}
	if run.Name == "" || run.Spec.BenchmarkRef.Name == "" {
		return Document{}, noResult("no run or benchmark name")
	}
	return NewDocument(&run, ""), nil
}

// decode decodes text, which must be exactly one JSON value.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(into); errors.Is(err, io.EOF) {
		return noResult("the input is empty")
	} else if err != nil {
		return noResult("%w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errMoreData
	}
	return nil
}

var errMoreData = noResult("the input has data after the result: use one result per file")

func noResult(format string, arguments ...any) error {
	return fmt.Errorf("neither a result of `run -o json` nor a BenchmarkRun of `kubectl get benchmarkrun NAME -o json`: "+format, arguments...)
}
