// Package catalog holds the documented limits that results are compared with: the limits built into the operator, and
// the ones that a ConfigMap in the operator's namespace adds or replaces.
//
// The ConfigMap is read whenever the storage of a run is described, so changes apply to the next run. It is also read
// once a minute, so that a fault is reported before a run depends on it. A faulty ConfigMap changes nothing: the last
// valid catalog stays in use. The fault is reported in four places, because the author of the ConfigMap may see only
// one of them: an event on the ConfigMap, the operator's log, the metric storagebench_limits_catalog_valid, and the
// notes of runs. No event is sent about a ConfigMap that cannot be read.
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

// DefaultName is the default name of the ConfigMap.
const DefaultName = "storagebench-limits"

// lookEvery is the interval at which the ConfigMap is read even if no run needs it.
const lookEvery = time.Minute

// Source provides the current catalog.
type Source struct {
	reader client.Reader
	events events.EventRecorder
	key    client.ObjectKey
	// valid is the gauge that Metric returns: 1 while the ConfigMap is valid or absent, and 0 otherwise.
	valid prometheus.Gauge

	mu      sync.Mutex
	builtin *limits.Catalog
	current *limits.Catalog
	// version is the resource version of the ConfigMap at the last read. fault is the problem that this read found, or
	// "" if there was none.
	version, fault string
}

// New returns a source that reads a ConfigMap. Until the first read, its catalog is the built-in one.
func New(reader client.Reader, recorder events.EventRecorder, namespace, name string) (*Source, error) {
	builtin, err := limits.Builtin()
	if err != nil {
		return nil, fmt.Errorf("read the catalog of limits: %w", err)
	}
	made := &Source{
		reader: reader, events: recorder, key: client.ObjectKey{Namespace: namespace, Name: name}, builtin: builtin, current: builtin,
		valid: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "storagebench_limits_catalog_valid",
			Help: "1 if the ConfigMap of documented limits is valid or absent, 0 if it is invalid or cannot be read " +
				"and the last valid limits are in use.",
		}),
	}
	made.valid.Set(1)
	return made, nil
}

// Metric returns the gauge that shows whether the ConfigMap is valid.
func (s *Source) Metric() prometheus.Collector { return s.valid }

// Start implements manager.Runnable. It reads the ConfigMap every lookEvery until ctx is canceled.
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

// Current reads the ConfigMap and returns the current catalog. It also returns notes, which are added to the results of
// runs that use the catalog.
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
			ctrl.LoggerFrom(ctx).Error(err, "Keeping the last valid limits because their ConfigMap cannot be read", "configMap", klog.KRef(s.key.Namespace, s.key.Name))
		}
		remedy := "the operator tries again every minute"
		if apierrors.IsForbidden(err) {
			remedy = "allow the operator to get it"
		}
		s.version, s.fault = unread, fmt.Sprintf("ConfigMap %s cannot be read; %s: %s", s.key.Name, remedy, err)
		s.valid.Set(0)
	case found.ResourceVersion != s.version:
		s.apply(ctx, &found)
	}
	if s.fault == "" {
		return s.current, nil
	}
	return s.current, []string{v1alpha1.Truncate("using the last valid limits: "+s.fault, 512)}
}

// unread is recorded as the version of a ConfigMap that could not be read.
const unread = "unread"

// apply puts a ConfigMap into effect, or reports the problem with it.
func (s *Source) apply(ctx context.Context, found *corev1.ConfigMap) {
	made, changes, err := s.builtin.Override(found.Data)
	if err == nil && len(found.BinaryData) > 0 {
		err = fmt.Errorf("binaryData is not supported: move the files to data")
	}
	if err != nil {
		s.version, s.fault = found.ResourceVersion, fmt.Sprintf("ConfigMap %s is invalid: %s", s.key.Name, err)
		s.valid.Set(0)
		ctrl.LoggerFrom(ctx).Error(err, "Keeping the last valid limits because their ConfigMap is invalid", "configMap", klog.KObj(found))
		found.APIVersion, found.Kind = "v1", "ConfigMap"
		s.events.Eventf(found, nil, corev1.EventTypeWarning, v1alpha1.EventLimitsFaulty, "ReadLimits",
			"%s", v1alpha1.EventNote("using the last valid limits: %s", err))
		return
	}
	s.accept(ctx, found.ResourceVersion, made, len(changes))
}

func (s *Source) accept(ctx context.Context, version string, catalog *limits.Catalog, changes int) {
	if version != s.version || s.fault != "" {
		ctrl.LoggerFrom(ctx).Info("Reading limits", "configMap", klog.KRef(s.key.Namespace, s.key.Name), "found", version != "", "changes", changes)
	}
	s.version, s.fault, s.current = version, "", catalog
	s.valid.Set(1)
}
