package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// first is a first benchmark: what the user asked for, and what the cluster has.
type first struct {
	name    string
	options initOptions
	// capacity of each volume in bytes, and the access mode in which it is used.
	capacity int64
	mode     corev1.PersistentVolumeAccessMode
	// nodes is the number of nodes on which pods can be scheduled; 0 if not known.
	nodes int
	// provisioner of the storage class; empty if not known.
	provisioner string
	// found lists what was found in the cluster, for the comment at the top of the file.
	found []string
}

// defaultSize of new volumes in bytes.
const defaultSize = 10 << 30

// assume sets mode and capacity from the flags alone.
func (f *first) assume() {
	f.mode = corev1.PersistentVolumeAccessMode(cmp.Or(f.options.accessMode, string(corev1.ReadWriteOnce)))
	f.capacity = f.size()
}

// size returns the size in bytes of new volumes, or the size to assume for a claim that was not read.
func (f *first) size() int64 {
	if f.options.size == "" {
		return defaultSize
	}
	return quantity(f.options.size)
}

// ask reads nodes, claims and storage classes from the cluster, and lets the user choose if no flag does.
func (f *first) ask(ctx context.Context, streams Streams, c *cluster) error {
	var nodes corev1.NodeList
	if err := c.list(ctx, corev1.SchemeGroupVersion.WithResource("nodes"), false, &nodes); err == nil {
		for i := range nodes.Items {
			if schedulable(&nodes.Items[i]) {
				f.nodes++
			}
		}
	} else if !apierrors.IsForbidden(err) {
		return fmt.Errorf("list the nodes: %w", err)
	}
	var claims corev1.PersistentVolumeClaimList
	if err := c.list(ctx, corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), true, &claims); err != nil {
		return fmt.Errorf("list the claims of namespace %s: %w", c.namespace, err)
	}
	var classes storagev1.StorageClassList
	if err := c.list(ctx, storagev1.SchemeGroupVersion.WithResource("storageclasses"), false, &classes); err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("list the storage classes: %w", err)
	}
	if f.options.claim == "" && f.options.class == "" {
		if err := f.choose(streams, claims.Items, classes.Items); err != nil {
			return err
		}
	}
	if f.options.claim != "" {
		return f.ofClaim(c.namespace, claims.Items, classes.Items)
	}
	return f.ofClass(classes.Items)
}

func schedulable(node *corev1.Node) bool {
	return !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule
	})
}

// list reads all objects of a resource, or those of the namespace if the resource is namespaced.
func (c *cluster) list(ctx context.Context, of schema.GroupVersionResource, namespaced bool, into any) error {
	all := c.client.Resource(of)
	if !namespaced {
		found, err := all.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		return decodeList(found.UnstructuredContent(), into)
	}
	found, err := all.Namespace(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return decodeList(found.UnstructuredContent(), into)
}

// choose lets the user choose a claim or a storage class if there is a terminal; else it takes the default class.
func (f *first) choose(streams Streams, claims []corev1.PersistentVolumeClaim, classes []storagev1.StorageClass) error {
	standard := slices.IndexFunc(classes, isDefault)
	if !interactive(streams) {
		if standard < 0 {
			return errors.New("no default storage class: add --claim or --storage-class")
		}
		f.options.class = classes[standard].Name
		return nil
	}
	var offers []string
	_, _ = fmt.Fprintln(streams.Err, "What do you want to measure?")
	offer := func(what, about string) {
		offers = append(offers, what)
		_, _ = fmt.Fprintf(streams.Err, "  %2d  %s  %s\n", len(offers), what, about)
	}
	for i := range claims {
		offer("claim "+claims[i].Name, claimWords(&claims[i]))
	}
	for i := range classes {
		about := classes[i].Provisioner
		if i == standard {
			about += ", the default"
		}
		offer("storage class "+classes[i].Name, about)
	}
	if len(offers) == 0 {
		return errors.New("the namespace has no claim and the cluster no storage class")
	}
	_, _ = fmt.Fprintf(streams.Err, "Number (1 to %d): ", len(offers))
	line, err := bufio.NewReader(streams.In).ReadString('\n')
	if err != nil {
		return errors.New("nothing was chosen")
	}
	number, err := strconv.Atoi(strings.TrimSpace(line))
	switch {
	case err != nil || number < 1 || number > len(offers):
		return fmt.Errorf("%q is not a number from 1 to %d", strings.TrimSpace(line), len(offers))
	case number <= len(claims):
		f.options.claim = claims[number-1].Name
	default:
		f.options.class = classes[number-1-len(claims)].Name
	}
	return nil
}

func isDefault(class storagev1.StorageClass) bool {
	return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true"
}

func claimWords(claim *corev1.PersistentVolumeClaim) string {
	var modes []string
	for _, mode := range claim.Spec.AccessModes {
		modes = append(modes, string(mode))
	}
	capacity := claim.Status.Capacity[corev1.ResourceStorage]
	words := capacity.String() + ", " + strings.Join(modes, " ")
	if claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName != "" {
		words += ", class " + *claim.Spec.StorageClassName
	}
	return words
}

func (f *first) ofClaim(namespace string, claims []corev1.PersistentVolumeClaim, classes []storagev1.StorageClass) error {
	at := slices.IndexFunc(claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == f.options.claim })
	if at < 0 {
		var names []string
		for i := range claims {
			names = append(names, claims[i].Name)
		}
		return fmt.Errorf("namespace %s has no claim %q; it has: %s", namespace, f.options.claim, cmp.Or(strings.Join(names, ", "), "none"))
	}
	claim := &claims[at]
	if claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock {
		return fmt.Errorf("claim %s is a raw device, which a benchmark overwrites: write that file by hand, see docs/raw-devices.md", claim.Name)
	}
	capacity := claim.Status.Capacity[corev1.ResourceStorage]
	if capacity.IsZero() {
		capacity = claim.Spec.Resources.Requests[corev1.ResourceStorage] // the claim is not bound yet
	}
	f.capacity = capacity.Value()
	for _, mode := range []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod} {
		if slices.Contains(claim.Spec.AccessModes, mode) {
			f.mode = mode
			break
		}
	}
	if f.mode == "" {
		return fmt.Errorf("claim %s is read-only (%s), and a benchmark writes its dataset first: choose another one", claim.Name, claimWords(claim))
	}
	f.found = append(f.found, "claim "+claim.Name+": "+claimWords(claim))
	if name := claim.Spec.StorageClassName; name != nil {
		f.provisionedBy(*name, classes)
	}
	return nil
}

func (f *first) ofClass(classes []storagev1.StorageClass) error {
	at := slices.IndexFunc(classes, func(c storagev1.StorageClass) bool { return c.Name == f.options.class })
	if at < 0 && len(classes) > 0 {
		var names []string
		for i := range classes {
			names = append(names, classes[i].Name)
		}
		return fmt.Errorf("no storage class %q; the cluster has: %s", f.options.class, strings.Join(names, ", "))
	}
	f.assume()
	f.provisionedBy(f.options.class, classes)
	return nil
}

func (f *first) provisionedBy(class string, classes []storagev1.StorageClass) {
	for i := range classes {
		if classes[i].Name == class {
			f.provisioner = classes[i].Provisioner
			f.found = append(f.found, "storage class "+class+": "+f.provisioner)
		}
	}
}
