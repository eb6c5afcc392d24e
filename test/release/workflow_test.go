package release

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestWorkflow checks the workflow that publishes a release: it has only the permissions that it needs, runs only
// actions pinned by commit, signs and attests, and its scripts cannot execute a tag's name as a command.
func TestWorkflow(t *testing.T) {
	text := readFile(t, root+"/.github/workflows/release.yml")
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			Permissions map[string]string
			Steps       []struct {
				Name, Uses, Run string
				With            map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(text, &workflow); err != nil {
		t.Fatal(err)
	}
	if workflow.Permissions == nil || len(workflow.Permissions) > 0 || len(workflow.Jobs) != 1 {
		t.Errorf("permissions %v, %d jobs", workflow.Permissions, len(workflow.Jobs))
	}
	pinned := regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)
	target := regexp.MustCompile(`\bmake ([a-z-]+)`)
	makefile := string(readFile(t, root+"/Makefile"))
	var all strings.Builder
	for name, job := range workflow.Jobs {
		for permission := range job.Permissions {
			if !strings.Contains("contents packages id-token attestations", permission) {
				t.Errorf("%s has the permission %s", name, permission)
			}
		}
		for _, step := range job.Steps {
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				t.Errorf("%s is not named by a commit", step.Uses)
			}
			if strings.Contains(step.Run, "${{") {
				t.Errorf("the script of %q takes in text of an expression: use an environment variable", step.Name)
			}
			for _, made := range target.FindAllStringSubmatch(step.Run, -1) {
				if !strings.Contains(makefile, "\n"+made[1]+":") {
					t.Errorf("the Makefile has no target %s", made[1])
				}
			}
			all.WriteString(step.Uses + " " + step.Run + "\n")
		}
	}
	for _, want := range []string{"make vulnerabilities", "make release", `RELEASE_URL="$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/releases/download/$VERSION"`, "make push-release", "cosign sign --yes", "charts/storagebench@", "cosign sign-blob", "actions/attest@"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no step has %q", want)
		}
	}
}

// TestMakePassesTheURL checks that a fork can set the address of its archives for its krew manifest.
func TestMakePassesTheURL(t *testing.T) {
	recipes := 0
	for line := range strings.SplitSeq(string(readFile(t, root+"/Makefile")), "\n") {
		if !strings.Contains(line, "go run ./hack/release ") {
			continue
		}
		recipes++
		if !strings.Contains(line, " -url '$(RELEASE_URL)'") {
			t.Errorf("the krew manifest of a fork names the archives of this project: %s", strings.TrimSpace(line))
		}
	}
	if recipes != 2 {
		t.Errorf("%d recipes make a release", recipes)
	}
}

// TestBasesArePinned checks that Dockerfiles name their base images by digest.
func TestBasesArePinned(t *testing.T) {
	files, err := filepath.Glob(root + "/images/*/Dockerfile")
	if err != nil || len(files) == 0 {
		t.Fatalf("no Dockerfiles: %v", err)
	}
	base, pinned := regexp.MustCompile(`(?mi)^(?:FROM|ARG\s+BASE=)\s*(\S+)`), regexp.MustCompile(`@sha256:[0-9a-f]{64}$`)
	for _, file := range files {
		found := base.FindAllStringSubmatch(string(readFile(t, file)), -1)
		if len(found) == 0 {
			t.Errorf("%s has no base", file)
		}
		for _, one := range found {
			if of := one[1]; of != "scratch" && of != "${BASE}" && !pinned.MatchString(of) {
				t.Errorf("%s is made from %s, which may change", file, of)
			}
		}
	}
}
