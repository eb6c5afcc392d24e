package standinior

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/storagebench/storagebench/test/binaries"
)

//go:embed source
var sources embed.FS

// IORVariable and MdtestVariable are the environment variables with the paths of the real programs.
const (
	IORVariable    = "IOR_BINARY"
	MdtestVariable = "MDTEST_BINARY"
)

// Programs holds the paths of an ior and an mdtest.
type Programs struct {
	IOR, Mdtest string
}

// flags are the compiler's flags. They are part of the cache key.
var flags = []string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"}

// shared lists the sources that both programs use.
var shared = []string{"options.c", "common.c", "data.c"}

// Program returns the path of ior: the value of IOR_BINARY, or else the stand-in. If the stand-in cannot be compiled,
// the test fails with the reason.
func Program(t testing.TB) string {
	t.Helper()
	return required(t).IOR
}

// Mdtest returns the path of mdtest, from MDTEST_BINARY or the stand-in, like Program.
func Mdtest(t testing.TB) string {
	t.Helper()
	return required(t).Mdtest
}

// Real reports whether both programs are the real ones.
func Real() bool {
	return os.Getenv(IORVariable) != "" && os.Getenv(MdtestVariable) != ""
}

func required(t testing.TB) Programs {
	t.Helper()
	programs, err := Given(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return programs
}

// Given returns the programs that the environment names, and stand-ins for those that it does not.
func Given(ctx context.Context) (Programs, error) {
	programs := Programs{IOR: os.Getenv(IORVariable), Mdtest: os.Getenv(MdtestVariable)}
	for variable, path := range map[string]string{IORVariable: programs.IOR, MdtestVariable: programs.Mdtest} {
		if path == "" {
			continue
		}
		if _, err := exec.LookPath(path); err != nil || !filepath.IsAbs(path) {
			return Programs{}, fmt.Errorf("%s is %q: it must be the absolute path of a program, remove it to use the stand-in", variable, path)
		}
	}
	if programs.IOR != "" && programs.Mdtest != "" {
		return programs, nil
	}
	own, err := StandIns(ctx)
	if err != nil {
		return Programs{}, err
	}
	if programs.IOR == "" {
		programs.IOR = own.IOR
	}
	if programs.Mdtest == "" {
		programs.Mdtest = own.Mdtest
	}
	return programs, nil
}

var lock sync.Mutex

// StandIns returns the stand-ins. It compiles them if they are not in the cache.
func StandIns(ctx context.Context) (Programs, error) {
	lock.Lock()
	defer lock.Unlock()
	folder, err := cacheFolder()
	if err != nil {
		return Programs{}, err
	}
	programs := Programs{IOR: filepath.Join(folder, "ior"), Mdtest: filepath.Join(folder, "mdtest")}
	if _, err := os.Stat(folder); err == nil {
		return programs, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Programs{}, fmt.Errorf("look for the stand-in of IOR: %w", err)
	}
	if err := compile(ctx, folder); err != nil {
		return Programs{}, fmt.Errorf("compile the stand-in of IOR: %w", err)
	}
	return programs, nil
}

// cacheFolder returns a path with a digest of the sources and flags.
func cacheFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory (set XDG_CACHE_HOME or HOME): %w", err)
	}
	digest := sha256.New()
	_, _ = fmt.Fprintln(digest, flags, shared)
	err = fs.WalkDir(sources, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := sources.ReadFile(name)
		_, _ = fmt.Fprintf(digest, "%s %d\n%s", name, len(data), data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the sources of the stand-in of IOR: %w", err)
	}
	return filepath.Join(cache, "storagebench", "standinior-"+hex.EncodeToString(digest.Sum(nil)[:12])), nil
}

// compile creates the folder atomically, because another process may create it at the same time.
func compile(ctx context.Context, folder string) error {
	if err := ensurePackages(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(folder), ".standinior-")
	if err != nil {
		return fmt.Errorf("make a folder in the cache: %w", err)
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // a leftover of the cache
	if err := os.CopyFS(temporary, sources); err != nil {
		return fmt.Errorf("lay out the sources: %w", err)
	}
	for program, own := range map[string][]string{"ior": {"ior.c", "storage.c", "transfers.c"}, "mdtest": {"mdtest.c"}} {
		arguments := append([]string{"-o", filepath.Join(temporary, program)}, flags...)
		arguments = append(arguments, own...)
		arguments = append(append(arguments, shared...), "-lm")
		command := exec.CommandContext(ctx, "mpicc", arguments...)
		command.Dir = filepath.Join(temporary, "source")
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("mpicc of %s: %w\n%s", program, err, output)
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil { // #nosec G302 -- programs that any user runs
		return fmt.Errorf("open the folder to others: %w", err)
	}
	err = os.Rename(temporary, folder)
	if errors.Is(err, fs.ErrExist) || err != nil && strings.Contains(err.Error(), "not empty") {
		return nil // Another process was faster.
	}
	if err != nil {
		return fmt.Errorf("keep it in the cache: %w", err)
	}
	return nil
}

func ensurePackages(ctx context.Context) error {
	root, err := binaries.RepositoryRoot()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, filepath.Join(root, "hack", "ensure-packages"), "gcc", "libopenmpi-dev", "openmpi-bin")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("hack/ensure-packages: %w\n%s", err, output)
	}
	return nil
}
