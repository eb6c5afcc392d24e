package limits

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedExample checks that the example of custom rows in docs/limits-catalog.md is valid and can be computed.
func TestDocumentedExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits-catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, found := strings.Cut(string(page), "```yaml limits\n")
	example, _, closed := strings.Cut(example, "```")
	if !found || !closed {
		t.Fatal("the page has no example")
	}
	catalog, changes, err := builtin(t).Override(map[string]string{"mine.yaml": example})
	if err != nil {
		t.Fatal(err)
	}
	if len(changes) != 3 {
		t.Errorf("%+v", changes)
	}
	made, err := catalog.Compute(Description{Volumes: []Volume{{Driver: "smb.csi.k8s.io"}},
		Clients: []Machines{{Type: "x9.4xlarge", Nodes: 2}}}, declared("my-nas/both", "400Gi"))
	if err != nil || len(made.Missing) > 0 {
		t.Fatal(err, made.Missing)
	}
	near(t, "operations", named(t, made, "disk operations").Baseline, 2000)
	near(t, "instances", named(t, made, "instance network").Baseline, 2.5e9)
	if !named(t, made, "server network").Overridden || named(t, made, "one flow").Overridden {
		t.Error("overridden limits are not distinguished from others")
	}
	// The catalog has an example of every kind of key that the page names.
	for _, key := range []string{"aws-fsx-windows/hdd-32", "aws-fsx-lustre/persistent-2-ssd-250", "aws-fsx-openzfs/64", "aws-ebs/sc1", "aws-efs/bursting", "aws-ec2/m5n.8xlarge", "aws-ec2/c5n.9xlarge", "azure-disk/p30-on-demand", "azure-vm/Standard_D32s_v3", "azure-files/hdd-v2"} {
		if !strings.Contains(strings.Join(catalog.Presets(), " ")+" ", key+" ") {
			t.Errorf("the page names %s, which is not there", key)
		}
	}
}
