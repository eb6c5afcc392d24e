package main

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/controllers/benchmarkrun"
	"github.com/storagebench/storagebench/controllers/storagebenchmark"
)

// cacheOptions limits what the operator caches. It caches only the pods that belong to runs. It keeps little more than
// the metadata of these pods and of finished runs, and little more than the names of claims.
//
// Reading a kind that no controller watches is an error. By default, the read would silently start a watch of the kind
// in the whole cluster.
//
// If the operator watches only some namespaces, the cache opens one watch per namespace and kind.
func cacheOptions(namespaces []string) cache.Options {
	var watched map[string]cache.Config
	for _, namespace := range namespaces {
		if watched == nil {
			watched = map[string]cache.Config{}
		}
		watched[namespace] = cache.Config{}
	}
	return cache.Options{
		DefaultNamespaces:           watched,
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   {Label: hasLabel(v1alpha1.LabelRun), Transform: benchmarkrun.TrimPod},
			&corev1.PersistentVolumeClaim{}: {Transform: storagebenchmark.TrimClaim},
			&v1alpha1.BenchmarkRun{}:        {Transform: storagebenchmark.TrimEndedRun},
		},
	}
}

func hasLabel(label string) labels.Selector {
	requirement, err := labels.NewRequirement(label, selection.Exists, nil)
	if err != nil {
		panic(err) // unreachable: callers pass only label constants, which are valid
	}
	return labels.NewSelector().Add(*requirement)
}

// readDirectly lists the kinds that the manager's client reads from the API server each time, not from a cache.
//
// The specs of PersistentVolumeClaims are not cached because users' claims have no storagebench label: a cache of
// labelled claims would not contain them, and a cache of all claims would be large, although the operator reads only a
// few. Secrets are never kept in memory, except for the master key, from which the keys for all runs are derived. The
// other kinds are rarely read.
func readDirectly() []client.Object {
	return []client.Object{
		&corev1.PersistentVolumeClaim{},
		&corev1.PersistentVolume{},
		&corev1.Secret{},
		&corev1.ConfigMap{},
		&corev1.Node{},
		&corev1.Namespace{},
		&corev1.Event{},
		&eventsv1.Event{},
		&networkingv1.NetworkPolicy{},
		&storagev1.StorageClass{},
		&storagev1.VolumeAttributesClass{},
	}
}
