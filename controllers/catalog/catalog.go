// Package catalog keeps the documented limits that results are compared with: those that come with the operator, and
// what a ConfigMap in its namespace puts in their place or beside them.
//
// The ConfigMap is read when a run is described, so that a change holds for the next run, and now and then, so that
// a faulty one is told of before somebody waits for a run. A faulty one changes nothing: what was valid before is used
// on. It is told of in four places, because whoever writes the ConfigMap may look at none but one of them: an event at the
// ConfigMap, the operator's log, the metric storagebench_limits_catalog_valid, and the notes of runs.
package catalog

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
)

// +kubebuilder:rbac:groups="",namespace=storagebench-system,resources=configmaps,resourceNames=storagebench-limits,verbs=get

// DefaultName of the ConfigMap.
const DefaultName = "storagebench-limits"

// lookEvery is how often the ConfigMap is read when no run asks for it.
const lookEvery = time.Minute

// Source gives the catalog that holds now.
type Source struct {
	reader client.Reader
	events events.EventRecorder
	key    client.ObjectKey
	// valid is 1 while the ConfigMap is as it should be, or not there.
	valid prometheus.Gauge

	mu      sync.Mutex
	builtin *limits.Catalog
	current *limits.Catalog
	// version of the ConfigMap that was read last, and what was wrong with it.
	version, fault string
}

// New makes a source that reads a ConfigMap. It has the catalog of this version until it has read one.
func New(reader client.Reader, recorder events.EventRecorder, namespace, name string) (*Source, error) {
	builtin, err := limits.Builtin()
	if err != nil {
		return nil, fmt.Errorf("read the catalog of limits: %w", err)
	}
	made := &Source{
		reader: reader, events: recorder, key: client.ObjectKey{Namespace: namespace, Name: name}, builtin: builtin, current: builtin,
		valid: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "storagebench_limits_catalog_valid",
			Help: "1 while the ConfigMap of documented limits is valid or absent, 0 while it is faulty and what was valid before is used.",
		}),
	}
	made.valid.Set(1)
	return made, nil
}

// Metric reports whether the ConfigMap is valid.
func (s *Source) Metric() prometheus.Collector { return s.valid }

// Start implements manager.Runnable: it looks at the ConfigMap until the context ends.
func (s *Source) Start(ctx context.Context) error {
	for {
		s.Current(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// Current is the catalog that holds now, and notes for whoever reads what was computed with it.
func (s *Source) Current(ctx context.Context) (*limits.Catalog, []string) {
	var found corev1.ConfigMap
	err := s.reader.Get(ctx, s.key, &found)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case apierrors.IsNotFound(err):
		s.accept(ctx, "", s.builtin, 0)
	case err != nil:
		if s.version != unread {
			ctrl.LoggerFrom(ctx).Error(err, "Keeping the catalog of limits, since its ConfigMap cannot be read", "configMap", klog.KRef(s.key.Namespace, s.key.Name))
		}
		s.version, s.fault = unread, fmt.Sprintf("ConfigMap %s cannot be read (%s)", s.key.Name, err)
		s.valid.Set(0)
	case found.ResourceVersion != s.version:
		s.take(ctx, &found)
	}
	if s.fault == "" {
		return s.current, nil
	}
	return s.current, []string{v1alpha1.Truncate("the limits are those that were valid before: "+s.fault, 512)}
}

// unread is the version of a ConfigMap that cannot be read.
const unread = "unread"

// take makes a ConfigMap hold, or tells what is wrong with it.
func (s *Source) take(ctx context.Context, found *corev1.ConfigMap) {
	made, changes, err := s.builtin.Override(found.Data)
	if err == nil && len(found.BinaryData) > 0 {
		err = fmt.Errorf("binaryData is not read: put the files into data")
	}
	if err != nil {
		s.version, s.fault = found.ResourceVersion, fmt.Sprintf("ConfigMap %s is faulty: %s", s.key.Name, err)
		s.valid.Set(0)
		ctrl.LoggerFrom(ctx).Error(err, "Keeping the catalog of limits, since its ConfigMap is faulty", "configMap", klog.KObj(found))
		found.APIVersion, found.Kind = "v1", "ConfigMap"
		s.events.Eventf(found, nil, corev1.EventTypeWarning, v1alpha1.EventLimitsFaulty, "ReadLimits",
			"the limits are used as they were valid before: %s", v1alpha1.Truncate(err.Error(), 900))
		return
	}
	s.accept(ctx, found.ResourceVersion, made, len(changes))
}

func (s *Source) accept(ctx context.Context, version string, catalog *limits.Catalog, changes int) {
	if version != s.version || s.fault != "" {
		ctrl.LoggerFrom(ctx).Info("Reading limits", "configMap", klog.KRef(s.key.Namespace, s.key.Name), "there", version != "", "changes", changes)
	}
	s.version, s.fault, s.current = version, "", catalog
	s.valid.Set(1)
}
