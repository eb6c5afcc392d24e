package claims_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/claims"
)

type modes = []corev1.PersistentVolumeAccessMode

const (
	rwo  = corev1.ReadWriteOnce
	rwx  = corev1.ReadWriteMany
	rox  = corev1.ReadOnlyMany
	rwop = corev1.ReadWriteOncePod
)

// TestCheck checks that a run is refused if a claim does not allow its use, and that the error names the fields to
// change.
func TestCheck(t *testing.T) {
	run := field.NewPath("spec", "run")
	path := run.Child("targets").Index(0).Child("volumes").Index(0).Child("claimName")
	for name, c := range map[string]struct {
		modes, asked modes
		readOnly     string
		use          claims.Use
		want         []string
	}{
		"RWX, many nodes":             {modes: modes{rwx}, use: claims.Use{Pods: 8, OnePerNode: true, Writes: "layout"}},
		"RWO, one client":             {modes: modes{rwo}, use: claims.Use{Pods: 1, OnePerNode: true, Writes: "layout"}},
		"RWO, several on any node":    {modes: modes{rwo}, use: claims.Use{Pods: 4, Writes: "layout"}},
		"RWO, several on their nodes": {modes: modes{rwo}, use: claims.Use{Pods: 4, OnePerNode: true}, want: []string{"targets[0].volumes[0].claimName", "spec.run.clients.spread is OnePerNode and 4 clients would use it", "set spec.run.clients.spread to Any", "scope PerClient"}},
		"RWO that can be RWX too":     {modes: modes{rwo, rwx}, use: claims.Use{Pods: 4, OnePerNode: true}},
		"RWO with ROX, reads":         {modes: modes{rwo, rox}, asked: modes{rwo}, use: claims.Use{Pods: 4, OnePerNode: true}, want: []string{"is ReadWriteOnce or ReadOnlyMany, so only pods on one node"}},
		"RWO with ROX, read-only":     {modes: modes{rwo, rox}, asked: modes{rwo}, readOnly: "why", use: claims.Use{Pods: 4, OnePerNode: true}},
		"ROX of a volume that is RWO": {modes: modes{rwo, rox}, asked: modes{rox}, use: claims.Use{Pods: 4, OnePerNode: true}},
		"RWO with ROX, writes":        {modes: modes{rwo, rox}, use: claims.Use{Pods: 4, OnePerNode: true, Writes: "w"}, want: []string{"is ReadWriteOnce or ReadOnlyMany, so only pods on one node"}},
		"RWOP, several":               {modes: modes{rwop}, use: claims.Use{Pods: 2}, want: []string{"is ReadWriteOncePod, but 2 clients", "set spec.run.clients.count to 1"}},
		"RWOP, one":                   {modes: modes{rwop}, use: claims.Use{Pods: 1, OnePerNode: true, Writes: "w"}},
		"ROX, reads":                  {modes: modes{rox}, asked: modes{rox}, use: claims.Use{Pods: 4, OnePerNode: true}},
		"ROX, writes":                 {modes: modes{rox}, asked: modes{rox}, use: claims.Use{Pods: 1, Writes: "layout"}, want: []string{"claim share is ReadOnlyMany", "phase layout writes to it", "ReadWriteMany or ReadWriteOnce"}},
		"ROX of a volume that is RWX": {modes: modes{rwx, rox}, asked: modes{rox}, use: claims.Use{Pods: 1, Writes: "layout"}, want: []string{"is ReadOnlyMany"}},
		"mounted read-only":           {modes: modes{rwx}, asked: modes{rwx}, readOnly: "readOnly is true in PersistentVolume pv", use: claims.Use{Pods: 1, Writes: "w"}, want: []string{"is mounted read-only (readOnly is true in PersistentVolume pv), but phase w writes"}},
		"mounted read-only, reads":    {modes: modes{rwx}, asked: modes{rwx}, readOnly: "why", use: claims.Use{Pods: 1}},
		"nothing known of it":         {use: claims.Use{Pods: 4, OnePerNode: true, Writes: "w"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := claims.Check(run, claims.Claim{Name: "share", Path: path, Modes: c.modes, Asked: c.asked, MountedReadOnly: c.readOnly}, c.use)
			if (got == nil) != (len(c.want) == 0) {
				t.Fatalf("got %v, want %q", got, c.want)
			}
			for _, part := range c.want {
				if !strings.Contains(got.Error(), part) {
					t.Errorf("%s\ndoes not say %q", got, part)
				}
			}
		})
	}
}

func spec(change func(*corev1.PersistentVolumeClaimSpec)) *corev1.PersistentVolumeClaimSpec {
	class := "fast"
	made := &corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: modes{rwo},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
	}
	change(made)
	return made
}

// TestChanged checks that a change to the template of an existing claim is reported with both values.
func TestChanged(t *testing.T) {
	there := &corev1.PersistentVolumeClaim{Spec: *spec(func(s *corev1.PersistentVolumeClaimSpec) {
		mode := corev1.PersistentVolumeFilesystem
		s.VolumeMode, s.VolumeName = &mode, "pvc-1" // set by the cluster
	})}
	there.Name = "b-data-data"
	for name, c := range map[string]struct {
		change func(*corev1.PersistentVolumeClaimSpec)
		want   string
	}{
		"as it was": {func(*corev1.PersistentVolumeClaimSpec) {}, ""},
		"the same size": {func(s *corev1.PersistentVolumeClaimSpec) {
			s.Resources.Requests["storage"] = resource.MustParse("10240Mi")
		}, ""},
		"the class left open": {func(s *corev1.PersistentVolumeClaimSpec) { s.StorageClassName = nil }, ""},
		"another class":       {func(s *corev1.PersistentVolumeClaimSpec) { other := "slow"; s.StorageClassName = &other }, `spec.storageClassName: Invalid value: "slow": claim b-data-data, kept from an earlier run of the benchmark, has fast`},
		"another size": {func(s *corev1.PersistentVolumeClaimSpec) {
			s.Resources.Requests["storage"] = resource.MustParse("20Gi")
		}, `spec.resources.requests.storage: Invalid value: "20Gi"`},
		"other modes": {func(s *corev1.PersistentVolumeClaimSpec) { s.AccessModes = modes{rwx} }, `has ReadWriteOnce: use that value`},
		"a device":    {func(s *corev1.PersistentVolumeClaimSpec) { mode := corev1.PersistentVolumeBlock; s.VolumeMode = &mode }, `spec.volumeMode: Invalid value: "Block"`},
		"another attributes class": {func(s *corev1.PersistentVolumeClaimSpec) { gold := "gold"; s.VolumeAttributesClassName = &gold },
			`spec.volumeAttributesClassName: Invalid value: "gold": claim b-data-data, kept from an earlier run of the benchmark, has none`},
	} {
		got := claims.Changed(field.NewPath("claimTemplate"), there, spec(c.change))
		switch {
		case got == nil && c.want == "":
		case got == nil, c.want == "", !strings.Contains(got.Error(), c.want):
			t.Errorf("%s: got %v, want %q", name, got, c.want)
		}
	}
}

// fill sets the object that a claim is populated from: dataSource, dataSourceRef or both, as the API server stores
// them.
func fill(kind schema.GroupKind, name string, fields ...string) func(*corev1.PersistentVolumeClaimSpec) {
	return func(s *corev1.PersistentVolumeClaimSpec) {
		if slices.Contains(fields, "dataSource") {
			s.DataSource = &corev1.TypedLocalObjectReference{APIGroup: &kind.Group, Kind: kind.Kind, Name: name}
		}
		if slices.Contains(fields, "dataSourceRef") {
			s.DataSourceRef = &corev1.TypedObjectReference{APIGroup: &kind.Group, Kind: kind.Kind, Name: name}
		}
	}
}

// TestChangedContent checks that a kept claim is refused if its template now requests other content or selects another
// volume.
func TestChangedContent(t *testing.T) {
	snapshot := schema.GroupKind{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}
	claim := schema.GroupKind{Kind: "PersistentVolumeClaim"}
	other := schema.GroupKind{Group: "example.com", Kind: "Dump"}
	nothing := func(*corev1.PersistentVolumeClaimSpec) {}
	monday := fill(snapshot, "monday", "dataSource", "dataSourceRef")
	for name, c := range map[string]struct {
		there, template func(*corev1.PersistentVolumeClaimSpec)
		want            string
	}{
		"the same snapshot":         {monday, fill(snapshot, "monday", "dataSource"), ""},
		"the same, by reference":    {monday, fill(snapshot, "monday", "dataSourceRef"), ""},
		"a source that was dropped": {nothing, fill(other, "monday", "dataSource"), ""},
		"another snapshot": {monday, fill(snapshot, "tuesday", "dataSource"),
			`spec.dataSource: Invalid value: "VolumeSnapshot.snapshot.storage.k8s.io tuesday": claim b-data-data, ` +
				`kept from an earlier run of the benchmark, has VolumeSnapshot.snapshot.storage.k8s.io monday`},
		"a claim of that name": {monday, fill(claim, "monday", "dataSource"), `"PersistentVolumeClaim monday"`},
		"another kind":         {monday, fill(other, "monday", "dataSourceRef"), `"Dump.example.com monday"`},
		"a snapshot now":       {nothing, fill(snapshot, "monday", "dataSource"), "has none"},
		"no snapshot any more": {monday, nothing, `spec.dataSource: Invalid value: "none"`},
		"the same selector":    {selecting, selecting, ""},
		"a selector now":       {nothing, selecting, `spec.selector: Invalid value: "tier=gold"`},
		"no selector any more": {selecting, nothing, "has tier=gold"},
	} {
		there := &corev1.PersistentVolumeClaim{Spec: *spec(c.there)}
		there.Name = "b-data-data"
		got := claims.Changed(field.NewPath("claimTemplate"), there, spec(c.template))
		if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, got, c.want)
		}
	}
}

// TestExistingVolumes checks that a template that binds to an existing volume needs permission, and that the error
// names the field that binds it.
func TestExistingVolumes(t *testing.T) {
	none, yes, no := "", true, false
	at := "spec.run.targets[0].volumes[0].claimTemplate.spec."
	for name, c := range map[string]struct {
		change func(*corev1.PersistentVolumeClaimSpec)
		scope  v1alpha1.ClaimScope
		allow  *bool
		want   []string
	}{
		"a class":                  {change: func(*corev1.PersistentVolumeClaimSpec) {}},
		"the default class":        {change: func(s *corev1.PersistentVolumeClaimSpec) { s.StorageClassName = nil }},
		"a volume":                 {change: func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "pv-1" }, want: []string{at + `volumeName: Invalid value: "pv-1"`}},
		"a selector":               {change: selecting, want: []string{at + `selector: Invalid value: "tier=gold"`}},
		"no class":                 {change: func(s *corev1.PersistentVolumeClaimSpec) { s.StorageClassName = &none }, want: []string{at + `storageClassName: Invalid value: ""`}},
		"leave is denied":          {change: func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "pv-1" }, allow: &no, want: []string{at + "volumeName"}},
		"a volume, with leave":     {change: func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "pv-1" }, allow: &yes},
		"a selector, with leave":   {change: selecting, scope: v1alpha1.ClaimPerClient, allow: &yes},
		"no class, with leave":     {change: func(s *corev1.PersistentVolumeClaimSpec) { s.StorageClassName = &none }, allow: &yes},
		"a volume for two clients": {change: func(s *corev1.PersistentVolumeClaimSpec) { s.VolumeName = "pv-1" }, scope: v1alpha1.ClaimPerClient, allow: &yes, want: []string{at + "volumeName: Invalid value: \"pv-1\": scope is PerClient, but only one of 2 claims"}},
		"all three": {change: func(s *corev1.PersistentVolumeClaimSpec) {
			selecting(s)
			s.VolumeName, s.StorageClassName = "pv-1", &none
		}, want: []string{at + "volumeName", at + "selector", at + "storageClassName"}},
	} {
		run := &v1alpha1.RunSpec{Clients: v1alpha1.Clients{Count: 2, Spread: v1alpha1.SpreadAny}, Targets: []v1alpha1.Target{{Name: "data",
			Volumes: []v1alpha1.Volume{{Name: "data", ClaimTemplate: &v1alpha1.ClaimTemplate{Scope: c.scope, Spec: *spec(c.change), AllowExistingVolumes: c.allow}}}}}}
		got := claims.Templates(field.NewPath("spec", "run"), run, func(string) string { return "layout" })
		if len(got) != len(c.want) {
			t.Errorf("%s: got %v, want %q", name, got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i].Error(), want) || c.allow != &yes && !strings.HasSuffix(got[i].Error(), claims.ExistingRemedy) {
				t.Errorf("%s: %s\ndoes not say %q and the remedy", name, got[i], want)
			}
		}
	}
}

func selecting(s *corev1.PersistentVolumeClaimSpec) {
	s.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
}
