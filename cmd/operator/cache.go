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
	"github.com/storagebench/storagebench/controllers/storagebenchmark"
)

// cacheOptions keep what is watched small: of a cluster's pods only those of runs, and of runs that
// have ended little more than their metadata.
//
// A read of a kind that nobody watches is an error, not, as by default, the silent begin of a watch of
// that kind over the whole cluster.
//
// Where only some namespaces are watched there is a watch of each kind in each of them.
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
			&corev1.Pod{}:            {Label: having(v1alpha1.LabelRun)},
			&v1alpha1.BenchmarkRun{}: {Transform: storagebenchmark.TrimEndedRun},
		},
	}
}

func having(label string) labels.Selector {
	requirement, err := labels.NewRequirement(label, selection.Exists, nil)
	if err != nil {
		panic(err) // a label of ours that is none
	}
	return labels.NewSelector().Add(*requirement)
}

// readDirectly are the kinds that the manager's client asks the API server for at each read.
//
// Claims among them: one that a user names does not carry our label, so a cache of ours alone would
// report it as missing, and a cache of all claims would hold a whole cluster's for the few that
// are asked for. Secrets are never in memory but for the master key. The others are read seldom.
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
