package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/series"
)

// runPrefix marks a name as the name of a run in the cluster, even if a file with that name exists.
const runPrefix = "run/"

// documentOf reads a run from the file with the given name, or from the cluster if no such file exists. If the name
// refers to a StorageBenchmark, documentOf also returns the benchmark.
func documentOf(ctx context.Context, streams Streams, flags *clusterFlags, name string) (report.Document, *v1alpha1.StorageBenchmark, error) {
	if of, inCluster := strings.CutPrefix(name, runPrefix); inCluster {
		return clusterDocument(ctx, flags, of)
	}
	if name != "-" {
		_, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) && !looksLikeFile(name) {
			document, benchmark, err := clusterDocument(ctx, flags, name)
			if err != nil {
				return report.Document{}, nil, fmt.Errorf("file %s does not exist; %w", name, err)
			}
			return document, benchmark, nil
		}
	}
	file, err := openInput(streams, name)
	if err != nil {
		return report.Document{}, nil, err
	}
	defer func() { _ = file.Close() }()
	document, err := report.Read(file)
	if err != nil {
		return report.Document{}, nil, fmt.Errorf("%s: %w", name, err)
	}
	return document, nil, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// looksLikeFile reports whether a name must be a file name, because it has a path separator or a known file extension.
func looksLikeFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || slices.Contains([]string{".json", ".yaml", ".yml", ".txt"}, filepath.Ext(name))
}

func clusterDocument(ctx context.Context, flags *clusterFlags, name string) (report.Document, *v1alpha1.StorageBenchmark, error) {
	connected, err := flags.connect()
	if err != nil {
		return report.Document{}, nil, err
	}
	run, benchmark, err := connected.findRun(ctx, name)
	if err != nil {
		return report.Document{}, nil, err
	}
	over, err := connected.series(ctx, run)
	return report.NewDocument(run, "").With(over), benchmark, err
}

// judged applies the benchmark's current verdict to the document of a run, and returns the document and the exit code.
// The verdict covers the comparison with earlier runs and, unless spec.run has changed since the run, the benchmark's
// current objectives. If benchmark is nil, or its last run is not the document's run, judged returns the document
// unchanged. It reports a regression on standard error, because the report of a single run cannot show one.
func judged(streams Streams, document report.Document, benchmark *v1alpha1.StorageBenchmark) (report.Document, int) {
	if benchmark == nil || benchmark.Status.LastRun == nil || benchmark.Status.LastRun.UID != document.RunUID {
		return document, report.ExitCode(document)
	}
	current := benchmark.Spec.Objectives
	if document.Spec.Hash == plan.RunHash(&benchmark.Spec.Run) && !equality.Semantic.DeepEqual(current, document.Spec.Objectives) {
		document = document.JudgedBy(current)
	}
	code := report.ExitCode(document)
	if last := benchmark.Status.LastRun; code == report.ExitMet && last.Reason == v1alpha1.ReasonRegressed {
		_, _ = fmt.Fprintf(streams.Err, "%s: %s\n", last.Reason, last.Message)
		return document, report.ExitMissed
	}
	return document, code
}

// series reads the series of a run from the cluster, where each step has its own ConfigMap. It returns nil if there is
// no series or the user is not allowed to read it.
func (c *cluster) series(ctx context.Context, run *v1alpha1.BenchmarkRun) (*series.Log, error) {
	found, err := c.client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(c.namespace).List(ctx,
		metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{v1alpha1.LabelRun: objects.RunLabels(run)[v1alpha1.LabelRun]}).String()})
	if apierrors.IsForbidden(err) {
		return nil, nil // ignore the error: the figures do not need the series, and the report notes that it is missing
	}
	if err != nil {
		return nil, fmt.Errorf("read the series of run %s: %w", run.Name, err)
	}
	var parts []*series.Log
	for i := range found.Items {
		kept := &corev1.ConfigMap{}
		if err := decode(&found.Items[i], kept); err != nil {
			return nil, err
		}
		text, is := kept.BinaryData[objects.SeriesKey]
		if !is || !slices.ContainsFunc(kept.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == run.UID }) {
			continue // this ConfigMap holds no series, or belongs to an earlier run with the same name
		}
		part, err := series.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s: %w", kept.Name, err)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return series.Merge(parts, stepIDs(run)), nil
}

// stepIDs lists the IDs of the steps of a run, in order.
func stepIDs(run *v1alpha1.BenchmarkRun) []string {
	var all []string
	for _, step := range run.Spec.Steps {
		all = append(all, step.ID)
	}
	return all
}

// writeTo writes to the named file, or to standard output if name is empty. It leaves an
// existing file unchanged if an error occurs.
func writeTo(streams Streams, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(streams.Out)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if err := replaceFile(name, text.Bytes()); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// replaceFile replaces a file atomically, through a temporary file in the same directory, and keeps its owner, group
// and mode. It writes directly to a file that is not a regular file, such as a device. It also writes directly to a
// file that can be written but not replaced, for example in a read-only directory, at a mount point, or with an owner
// and group that the user cannot give to a new file.
func replaceFile(name string, text []byte) error {
	mode, exists := fs.FileMode(0o644), false
	info, err := os.Stat(name)
	if err == nil {
		if !info.Mode().IsRegular() {
			return os.WriteFile(name, text, 0o644)
		}
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err
		}
		mode, exists = info.Mode().Perm(), true
	}
	temporary := name + "." + rand.Text()[:8]
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		if exists {
			err = keepOwner(file, info)
			_ = file.Chmod(mode) // undo the effect of the umask; ignore the error, because some file systems have no modes
		}
		if err == nil {
			_, err = file.Write(text)
		}
		if err = errors.Join(err, file.Close()); err == nil {
			err = os.Rename(temporary, name)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(temporary))
		}
	}
	if exists && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY)) {
		return os.WriteFile(name, text, mode)
	}
	return err
}

// keepOwner gives a new file the owner and group of an old one. It returns fs.ErrPermission if that fails.
func keepOwner(file *os.File, old fs.FileInfo) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	want, known := old.Sys().(*syscall.Stat_t)
	have, _ := info.Sys().(*syscall.Stat_t)
	if !known || want.Uid == have.Uid && want.Gid == have.Gid {
		return nil
	}
	if file.Chown(int(want.Uid), int(want.Gid)) != nil {
		return fs.ErrPermission
	}
	return nil
}
