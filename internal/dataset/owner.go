package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	ownerFile     = "owner.json"
	ownerMaxBytes = 64 << 10
	schemaVersion = 1
)

// Owner is the content of an ownership file. Only BenchmarkUID determines who owns a directory; the other fields
// document its origin.
type Owner struct {
	// SchemaVersion is the version of the file's format. It is set when the file is written.
	SchemaVersion int    `json:"schemaVersion"`
	BenchmarkUID  string `json:"benchmarkUID"`
	Benchmark     string `json:"benchmark"`
	// RunUID and Run identify the run that created the directory; later runs of the benchmark may use it too.
	RunUID string `json:"runUID"`
	Run    string `json:"run"`
	// CreatedBy is the version of storagebench.
	CreatedBy string `json:"createdBy"`
	// Installation identifies the operator that manages the benchmark object. It is empty if no operator manages the
	// object. Only that operator removes the directory once the benchmark is gone.
	Installation string `json:"installation,omitempty"`
	// Keep is true if the data is kept on purpose after its run.
	Keep bool `json:"keep,omitempty"`
}

// text returns the content of the ownership file.
func (o Owner) text() ([]byte, error) {
	o.SchemaVersion = schemaVersion
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode an ownership file: %w", err)
	}
	return append(text, '\n'), nil
}

// writeOwner writes the ownership file atomically. Several clients may write it at the same time. If synced is true,
// its content survives a power loss.
func writeOwner(d *directory, owner Owner, synced bool) error {
	text, err := owner.text()
	if err != nil {
		return err
	}
	return d.create(scratchName(owner.BenchmarkUID), ownerFile, text, synced)
}

// errNoOwner wraps ErrForeign. It means that a directory has no ownership file. The file is also briefly missing while
// another client removes the directory.
var errNoOwner = fmt.Errorf("%w", ErrForeign)

// checkOwner returns an error unless the directory provably belongs to the benchmark.
func checkOwner(d *directory, benchmarkUID string) error {
	const remedy = "move it away; storagebench does not delete it"
	owner, err := readOwner(d)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Problem{Reason: errNoOwner, Path: d.path, Detail: "it has no " + ownerFile, Remedy: remedy}
	case err != nil:
		return err
	case owner.SchemaVersion > schemaVersion:
		return &Problem{
			Reason: ErrForeign, Path: d.path,
			Detail: fmt.Sprintf("its %s has schema version %d, but this version supports at most %d", ownerFile, owner.SchemaVersion, schemaVersion),
			Remedy: "use the version of storagebench that wrote it: " + owner.CreatedBy,
		}
	case owner.SchemaVersion < 1:
		return &Problem{Reason: ErrForeign, Path: d.path, Detail: "its " + ownerFile + " has no schema version", Remedy: remedy}
	case owner.BenchmarkUID != benchmarkUID:
		return &Problem{
			Reason: ErrForeign, Path: d.path,
			Detail: fmt.Sprintf("its %s names benchmark %q (UID %q), expected UID %q", ownerFile, owner.Benchmark, owner.BenchmarkUID, benchmarkUID),
			Remedy: remedy,
		}
	}
	return nil
}

func readOwner(d *directory) (Owner, error) {
	file, err := d.file(ownerFile, os.O_RDONLY)
	if err != nil {
		return Owner{}, err
	}
	defer func() { _ = file.Close() }()
	path := filepath.Join(d.path, ownerFile)
	text, err := io.ReadAll(io.LimitReader(file, ownerMaxBytes))
	if err != nil {
		return Owner{}, classify(path, "read", err)
	}
	var owner Owner
	if err := json.Unmarshal(text, &owner); err != nil {
		return Owner{}, &Problem{Reason: ErrForeign, Path: path, Detail: "it is not an ownership file", Remedy: "move it away", Cause: err}
	}
	return owner, nil
}
