package release

import (
	"log"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	memory "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestPush checks that the images of the release are pushed unchanged: each can be pulled by the digest that the chart
// and install.yaml name.
func TestPush(t *testing.T) {
	server := httptest.NewServer(memory.New(memory.Logger(log.New(t.Output(), "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/storagebench"
	command := exec.CommandContext(t.Context(), "go", "run", "./hack/push", "-registry", to, "-release", made(t), "-values", filepath.Join(t.TempDir(), "values.yaml"))
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, title := range []string{"operator", "fio"} {
		pulled, err := name.NewDigest(strings.Replace(published(t, title), registry, to, 1))
		if err != nil {
			t.Fatal(err)
		}
		index, err := remote.Index(pulled, remote.WithContext(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", pulled, err)
		}
	}
}
