package release

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// bill is the part of a bill of materials that the tests read.
type bill struct {
	Metadata struct {
		Component struct{ Name, Version, PURL string }
	}
	Components []struct {
		Name, Version, PURL string
		Type                string
	}
}

func (b bill) has(name, version string) bool {
	for _, part := range b.Components {
		if part.Name == name && part.Version == version && (part.PURL != "" || part.Type == "file") {
			return true
		}
	}
	return false
}

func billOf(t *testing.T, name string) bill {
	t.Helper()
	text := readFile(t, filepath.Join(made(t), name+".cdx.json"))
	conforms(t, name, text)
	var read bill
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if read.Metadata.Component.Version != version {
		t.Errorf("the bill of %s is of %+v", name, read.Metadata.Component)
	}
	return read
}

// conforms validates a bill with CycloneDX's own schema, which the module that writes the bills contains.
func conforms(t *testing.T, name string, text []byte) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go")
	command.Stderr = os.Stderr
	folder, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	for id, file := range map[string]string{"bom-1.6.schema.json": "bom-1.6.schema.json", "spdx.schema.json": "spdx.schema.json", "jsf-0.82.schema.json": "jsf-0.82.schemax.json"} {
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(readFile(t, filepath.Join(strings.TrimSpace(string(folder)), "schema", file))))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("http://cyclonedx.org/schema/"+id, schema); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// checkModules checks that a bill contains each module in a program's build information.
func checkModules(t *testing.T, in bill, name string, program []byte) {
	t.Helper()
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) < 10 {
		t.Errorf("%s names %d modules only", name, len(info.Deps))
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		if !in.has(module.Path, module.Version) {
			t.Errorf("the bill lacks %s %s of %s", module.Path, module.Version, name)
		}
	}
	if !in.has("stdlib", strings.TrimPrefix(info.GoVersion, "go")) {
		t.Errorf("the bill lacks Go itself of %s, %s", name, info.GoVersion)
	}
}

func TestBillsOfArchives(t *testing.T) {
	for _, platform := range platforms() {
		name := archiveOf(platform)
		checkModules(t, billOf(t, name), name, files(t, filepath.Join(made(t), name))["kubectl-storagebench"])
	}
}

// TestBillsOfImages compares the bills with dpkg's own package descriptions in the images, not with the list from which
// the bills were made.
func TestBillsOfImages(t *testing.T) {
	for _, platform := range platforms() {
		system, architecture, _ := strings.Cut(platform, "/")
		if system != "linux" {
			continue
		}
		for name, wanted := range map[string]struct {
			programs []string
			packages []string
		}{
			"operator": {[]string{"storagebench-operator", "storagebench-agent"}, []string{"ca-certificates"}},
			"fio":      {nil, []string{"fio", "libc6", "zip"}},
		} {
			read := billOf(t, name+"_"+version+"_"+strings.ReplaceAll(platform, "/", "_"))
			whole := content(t, forArchitecture(t, name, architecture))
			var packages []string
			for _, file := range whole.Files {
				if strings.HasPrefix(file.Name, "var/lib/dpkg/status.d/") && !strings.HasSuffix(file.Name, "/") {
					fields := control(file.Data)
					packages = append(packages, fields["Package"])
					if !read.has(fields["Package"], fields["Version"]) {
						t.Errorf("the bill of %s for %s lacks %s %s", name, platform, fields["Package"], fields["Version"])
					}
				}
			}
			for _, one := range wanted.packages {
				if !slices.Contains(packages, one) {
					t.Errorf("%s for %s is made of %v, and not of %s", name, platform, packages, one)
				}
			}
			for _, program := range wanted.programs {
				checkModules(t, read, program, whole.Data(t, program))
			}
		}
	}
}

// control parses the fields of a package's description.
func control(text []byte) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && !strings.HasPrefix(line, " ") {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}
