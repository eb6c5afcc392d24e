package csisim_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/test/csisim"
)

const (
	rwo = csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	rwx = csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
)

// TestShapes checks that volumes have the handles, attributes and sizes of the real drivers, and that two requests with
// the same name get the same volume.
func TestShapes(t *testing.T) {
	home := newHome(t)
	const gi = 1 << 30
	for _, test := range []struct {
		driver     string
		parameters map[string]string
		bytes      int64
		// The wanted values: {} stands for any text.
		id       string
		context  map[string]string
		capacity int64
	}{
		{
			driver: "fsx.csi.aws.com", parameters: map[string]string{"subnetId": "subnet-0", csisim.ScenarioParameter: "fsx-lustre-none"},
			bytes: 10 * gi, id: "fs-0{}", context: map[string]string{"dnsname": "fs-0{}.fsx.{}.amazonaws.com", "mountname": "{}"}, capacity: 1200 * gi,
		},
		{
			driver: "fsx.csi.aws.com", parameters: map[string]string{"storageType": "HDD", "perUnitStorageThroughput": "12"},
			bytes: 6001 * gi, id: "fs-0{}", context: map[string]string{"dnsname": "fs-0{}.amazonaws.com", "mountname": "{}"}, capacity: 12000 * gi,
		},
		{
			driver: "fsx.csi.aws.com", bytes: 14400 * gi, id: "fs-0{}", context: map[string]string{"dnsname": "fs-0{}.amazonaws.com", "mountname": "{}"}, capacity: 14400 * gi,
		},
		{
			driver: "fsx.openzfs.csi.aws.com", parameters: map[string]string{"ResourceType": "volume", "ParentVolumeId": `"fsvol-0abc"`},
			bytes: gi, id: "fsvol-0{}", context: map[string]string{"ResourceType": "volume", "DNSName": "fsvol-0abc.fsx.{}", "VolumePath": "/fsx/pvc-1"}, capacity: gi,
		},
		{driver: "efs.csi.aws.com", parameters: map[string]string{"fileSystemId": "fs-1", "provisioningMode": "efs-ap"}, bytes: 5, id: "fs-1::fsap-0{}", capacity: 4096},
		{driver: "ebs.csi.aws.com", parameters: map[string]string{"type": "io2", "iops": "4000"}, bytes: gi + 1, id: "vol-0{}", capacity: 2 * gi},
		{
			driver: "disk.csi.azure.com", parameters: map[string]string{"skuName": "Premium_LRS", "cachingMode": "None"}, bytes: 3*gi - 1,
			id:       "/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Compute/disks/pvc-1",
			context:  map[string]string{"skuName": "Premium_LRS", "cachingMode": "None", "requestedsizegib": "3"},
			capacity: 3 * gi,
		},
		{
			driver: "file.csi.azure.com", parameters: map[string]string{"skuName": "Premium_LRS", csisim.ScenarioParameter: "azure-files"}, bytes: 100 * gi,
			id: "{}#{}#pvc-1###", context: map[string]string{"skuName": "Premium_LRS", csisim.ScenarioParameter: "azure-files"}, capacity: 100 * gi,
		},
		{
			driver: "smb.csi.k8s.io", parameters: map[string]string{"source": "//server/share"}, bytes: gi,
			id: "server/share#pvc-1#pvc-1#", context: map[string]string{"source": "//server/share", "subdir": "pvc-1"}, capacity: gi,
		},
		{driver: generic, bytes: gi, id: "pvc-1", capacity: gi},
	} {
		t.Run(test.driver, func(t *testing.T) {
			o := optionsOf(home, test.driver)
			o.Home += "/" + strings.ReplaceAll(t.Name(), "/", "-")
			d := newDriver(t, o)
			request := &csi.CreateVolumeRequest{
				Name: "pvc-1", Parameters: test.parameters, CapacityRange: &csi.CapacityRange{RequiredBytes: test.bytes},
				VolumeCapabilities: []*csi.VolumeCapability{mountOf(rwo)},
			}
			var ids []string
			for range 2 {
				response, err := d.CreateVolume(t.Context(), request)
				must(t, err)
				v := response.GetVolume()
				ids = append(ids, v.GetVolumeId())
				if !like(v.GetVolumeId(), test.id) || v.GetCapacityBytes() != test.capacity {
					t.Errorf("the volume is %v", v)
				}
				if !maps.EqualFunc(v.GetVolumeContext(), test.context, like) {
					t.Errorf("the attributes are %v", v.GetVolumeContext())
				}
			}
			if ids[0] != ids[1] {
				t.Errorf("the handles are %q", ids)
			}
			_, err := d.DeleteVolume(context.Background(), &csi.DeleteVolumeRequest{VolumeId: ids[0]})
			must(t, err)
		})
	}
	if len(csisim.RealDrivers()) != 7 {
		t.Errorf("not all of %q are in the table", csisim.RealDrivers())
	}
}

// like reports whether a value matches a pattern in which {} stands for any text.
func like(value, pattern string) bool {
	parts := strings.Split(pattern, "{}")
	rest, ok := strings.CutPrefix(value, parts[0])
	for _, part := range parts[1:] {
		if part == "" {
			continue
		}
		_, after, found := strings.Cut(rest, part)
		rest, ok = after, ok && found
	}
	return ok && (rest == "" || parts[len(parts)-1] == "" && len(parts) > 1)
}

func mountOf(mode csi.VolumeCapability_AccessMode_Mode) *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
	}
}

func blockOf(mode csi.VolumeCapability_AccessMode_Mode) *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode},
		AccessType: &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}},
	}
}

// TestRefusals checks that a request for an impossible volume fails with the name of the field and creates nothing.
func TestRefusals(t *testing.T) {
	home := newHome(t)
	for _, test := range []struct {
		title, driver string
		change        func(*csi.CreateVolumeRequest)
		code          codes.Code
		says          string
	}{
		{"no such scenario", generic, with(csisim.ScenarioParameter, "tape"), codes.InvalidArgument, "csisim/scenario"},
		{"a parameter of ours that is none", generic, with("csisim/scenari", "facts"), codes.InvalidArgument, `csisim/scenari: "facts"`},
		{"overrides that do not fit", generic, with(csisim.OverridesParameter, "speed: 1"), codes.InvalidArgument, "csisim/overrides"},
		{"a configuration and a scenario", generic, func(r *csi.CreateVolumeRequest) {
			r.Parameters = map[string]string{csisim.ScenarioParameter: "facts", csisim.ConfigParameter: "queueLimit: 1"}
		}, codes.InvalidArgument, "csisim/config"},
		{"a store with a path", generic, with(csisim.StoreParameter, "../x"), codes.InvalidArgument, "csisim/store"},
		{"no size", generic, with(csisim.SizeParameter, "0"), codes.InvalidArgument, "csisim/size"},
		{"half a file", generic, with(csisim.InodesParameter, "500m"), codes.InvalidArgument, "csisim/inodes"},
		{"a disk for many nodes", "ebs.csi.aws.com", capabilities(mountOf(rwx)), codes.InvalidArgument, "access_mode"},
		{"a device of a share", "smb.csi.k8s.io", capabilities(blockOf(rwo)), codes.InvalidArgument, "access_type"},
		{"both kinds", generic, capabilities(blockOf(rwo), mountOf(rwo)), codes.InvalidArgument, "access_type"},
		{"no mode", generic, capabilities(mountOf(0)), codes.InvalidArgument, "access_mode"},
		{"a limit below what there is", "fsx.csi.aws.com", func(r *csi.CreateVolumeRequest) {
			r.CapacityRange = &csi.CapacityRange{RequiredBytes: 1 << 30, LimitBytes: 1 << 31}
		}, codes.OutOfRange, "capacity_range"},
		{"a limit below the request", generic, func(r *csi.CreateVolumeRequest) {
			r.CapacityRange = &csi.CapacityRange{RequiredBytes: 2, LimitBytes: 1}
		}, codes.InvalidArgument, "capacity_range"},
		{"a class of attributes that does not fit", "ebs.csi.aws.com", func(r *csi.CreateVolumeRequest) {
			r.MutableParameters = map[string]string{"colour": "blue"}
		}, codes.InvalidArgument, `"colour"`},
		{"a clone", generic, func(r *csi.CreateVolumeRequest) { r.VolumeContentSource = &csi.VolumeContentSource{} }, codes.InvalidArgument, "volume_content_source"},
	} {
		t.Run(test.title, func(t *testing.T) {
			d := newDriver(t, optionsOf(home, test.driver))
			r := &csi.CreateVolumeRequest{Name: "pvc", VolumeCapabilities: []*csi.VolumeCapability{mountOf(rwo)}}
			test.change(r)
			_, err := d.CreateVolume(t.Context(), r)
			if status.Code(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v has to be %s with %s", err, test.code, test.says)
			}
			clean(t, d.Options)
			must(t, d.Close())
		})
	}
}

func with(name, value string) func(*csi.CreateVolumeRequest) {
	return func(r *csi.CreateVolumeRequest) { r.Parameters = map[string]string{name: value} }
}

func capabilities(all ...*csi.VolumeCapability) func(*csi.CreateVolumeRequest) {
	return func(r *csi.CreateVolumeRequest) { r.VolumeCapabilities = all }
}

// TestPages checks that listing in pages returns every volume, even if the last volume of a page is deleted before the
// next page is requested.
func TestPages(t *testing.T) {
	d := newDriver(t, optionsOf(newHome(t), generic))
	var lives []*life
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		l := newLife(t, d, name, false)
		must(t, l.create())
		lives = append(lives, l)
	}
	var seen []string
	request := &csi.ListVolumesRequest{MaxEntries: 2}
	for {
		page, err := d.ListVolumes(t.Context(), request)
		must(t, err)
		for _, entry := range page.GetEntries() {
			seen = append(seen, entry.GetVolume().GetVolumeId())
		}
		if request.StartingToken = page.GetNextToken(); request.StartingToken == "" {
			break
		}
		last := slices.IndexFunc(lives, func(l *life) bool { return l.id == seen[len(seen)-1] })
		must(t, lives[last].remove())
	}
	slices.Sort(seen)
	if got := strings.Join(seen, ""); got != "abcde" {
		t.Errorf("the pages have %s", got)
	}
}
