package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/series"
)

// runPrefix says that a name is of a run in the cluster, whatever files there are.
const runPrefix = "run/"

// documentOf reads a run: of a file, or of the cluster where there is no such file.
func documentOf(ctx context.Context, streams Streams, flags *clusterFlags, name string) (report.Document, error) {
	if of, inCluster := strings.CutPrefix(name, runPrefix); inCluster {
		return clusterDocument(ctx, flags, of)
	}
	if name != "-" {
		_, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) && !looksLikeFile(name) {
			document, err := clusterDocument(ctx, flags, name)
			if err != nil {
				return report.Document{}, fmt.Errorf("there is no file %s, so that it was looked for in the cluster: %w", name, err)
			}
			return document, nil
		}
	}
	file, err := openInput(streams, name)
	if err != nil {
		return report.Document{}, err
	}
	defer func() { _ = file.Close() }()
	document, err := report.Read(file)
	if err != nil {
		return report.Document{}, fmt.Errorf("%s: %w", name, err)
	}
	return document, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// looksLikeFile says that a name can be no object's.
func looksLikeFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || slices.Contains([]string{".json", ".yaml", ".yml", ".txt"}, filepath.Ext(name))
}

func clusterDocument(ctx context.Context, flags *clusterFlags, name string) (report.Document, error) {
	connected, err := flags.connect()
	if err != nil {
		return report.Document{}, err
	}
	run, err := connected.findRun(ctx, name)
	if err != nil {
		return report.Document{}, err
	}
	return connected.document(ctx, run)
}

// document is that of a run, with its series where the cluster keeps them.
func (c *cluster) document(ctx context.Context, run *v1alpha1.BenchmarkRun) (report.Document, error) {
	over, err := c.series(ctx, run)
	if err != nil {
		return report.Document{}, err
	}
	// Operator and agents are of one version.
	var version string
	for _, e := range run.Status.Environments {
		version = cmp.Or(version, e.AgentVersion)
	}
	return report.NewDocument(run, version).With(over), nil
}

// series are those that the cluster keeps of a run, each step in a ConfigMap; nil where it keeps none.
func (c *cluster) series(ctx context.Context, run *v1alpha1.BenchmarkRun) (*series.Log, error) {
	found, err := c.client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(c.namespace).List(ctx,
		metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{v1alpha1.LabelRun: objects.RunLabels(run)[v1alpha1.LabelRun]}).String()})
	if apierrors.IsForbidden(err) {
		return nil, nil // the figures do not need them, and the report says that there are none
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
			continue // something else, or of another run that had the name
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
	return series.Together(parts, stepIDs(run)), nil
}

// stepIDs are the steps of a run in their order.
func stepIDs(run *v1alpha1.BenchmarkRun) []string {
	var all []string
	for _, step := range run.Spec.Steps {
		all = append(all, step.ID)
	}
	return all
}

// writeTo writes to a file as a whole or not at all; to standard output where none is named.
func writeTo(streams Streams, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(streams.Out)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
