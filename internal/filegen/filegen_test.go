package filegen

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		count int
		total int64
	}{{757, 13_100_000_000}, {1, 5}, {3, 0}, {10, 7}, {10, 10}, {1000, 1_000_000}} {
		all := sizes(c.count, c.total, 1)
		var sum int64
		for _, size := range all {
			if size < min(1, c.total/int64(c.count)) {
				t.Fatalf("%d files with %d bytes: one has %d", c.count, c.total, size)
			}
			sum += size
		}
		if len(all) != c.count || sum != c.total {
			t.Errorf("%d files with %d bytes, want %d with %d", len(all), sum, c.count, c.total)
		}
	}
	all := sizes(757, 13_100_000_000, 1)
	slices.Sort(all)
	mean := int64(13_100_000_000 / 757)
	if median, largest := all[378], all[756]; median > mean*7/10 || largest < 5*mean || largest > 60*mean {
		t.Errorf("median %d and largest %d of a mean of %d: not as people have them", median, largest, mean)
	}
}

// inFolder runs the command in the current directory and returns its exit code and output.
func inFolder(t *testing.T, arguments ...string) (code int, said string) {
	t.Helper()
	var out bytes.Buffer
	code = Command(arguments, &out, &out)
	return code, out.String()
}

func sumOf(t *testing.T) (sum [sha256.Size]byte, files int, size int64) {
	t.Helper()
	hash := sha256.New()
	err := filepath.WalkDir("photos", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		hash.Write([]byte(path))
		hash.Write(text)
		files++
		size += int64(len(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return [sha256.Size]byte(hash.Sum(nil)), files, size
}

// usual returns the arguments for small files with two extensions, followed by more.
func usual(more ...string) []string {
	return append([]string{"--directory", "photos", "--count", "120", "--total-bytes", "8000000", "--compress-percent", "45", "--extensions", "jpg,txt"}, more...)
}

func TestFilesAreTheSameAndKept(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, said := inFolder(t, usual()...); code != 0 || !strings.HasPrefix(said, "created 120 files (8000000 bytes in total) in directory photos") {
		t.Fatalf("%d, %s", code, said)
	}
	first, files, size := sumOf(t)
	if files != 120 || size != 8_000_000 {
		t.Fatalf("%d files with %d bytes", files, size)
	}
	if types, _ := filepath.Glob("photos/*/*.txt"); len(types) != 60 {
		t.Errorf("%d files of text, want 60", len(types))
	}
	longAgo := time.Unix(1_000_000_000, 0)
	if err := os.Chtimes("photos/000/file-00000.jpg", longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	if code, said := inFolder(t, usual("--parallel", "1")...); code != 0 || !strings.HasPrefix(said, "kept") {
		t.Errorf("%d, %s", code, said)
	}
	if again, err := os.Stat("photos/000/file-00000.jpg"); err != nil || !again.ModTime().Equal(longAgo) {
		t.Error("a file was written again")
	}
	// A truncated file causes all files to be created again. The same seed yields the same bytes.
	if err := os.Truncate("photos/001/file-00111.txt", 1); err != nil {
		t.Fatal(err)
	}
	if code, said := inFolder(t, usual()...); code != 0 || !strings.HasPrefix(said, "created") {
		t.Errorf("%d, %s", code, said)
	}
	if again, _, _ := sumOf(t); again != first {
		t.Error("other bytes of the same arguments")
	}
	if code, said := inFolder(t, usual("--seed", "2", "--count", "50")...); code != 0 || !strings.HasPrefix(said, "created 50") {
		t.Errorf("%d, %s", code, said)
	}
	if other, files, _ := sumOf(t); other == first || files != 50 {
		t.Errorf("%d files of other arguments", files)
	}
	// A user's files are never removed, even in a folder that the command created.
	if err := os.WriteFile("photos/000/mine.jpg", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := inFolder(t, usual("--seed", "3")...); code == 0 || !strings.Contains(said, "photos holds files that this command did not create") {
		t.Errorf("%d, %s", code, said)
	}
	if mine, err := os.ReadFile("photos/000/mine.jpg"); err != nil || string(mine) != "mine" {
		t.Errorf("the user's file is %q, %v", mine, err)
	}
}

// TestFilesCompress checks that real compressors save the requested percentage.
func TestFilesCompress(t *testing.T) {
	for _, percent := range []string{"0", "45", "80"} {
		t.Run(percent, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if code, said := inFolder(t, "--directory", "photos", "--count", "40", "--total-bytes", "20000000", "--compress-percent", percent); code != 0 {
				t.Fatal(said)
			}
			want := map[string]float64{"0": 0, "45": 0.45, "80": 0.80}[percent]
			for name, pack := range map[string]string{
				"zip": "zip -q -r packed.zip photos && stat -c %s packed.zip", "lz4": "tar c photos | lz4 -q -z - packed.lz4 && stat -c %s packed.lz4",
				"gzip": "tar c photos | gzip > packed.gz && stat -c %s packed.gz",
			} {
				if _, err := exec.LookPath(name); err != nil {
					t.Fatalf("these tests need %s: hack/ensure-packages zip lz4", name)
				}
				output, err := exec.CommandContext(t.Context(), "sh", "-c", pack).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v %s", name, err, output)
				}
				var size float64
				for _, digit := range strings.TrimSpace(string(output)) {
					size = size*10 + float64(digit-'0')
				}
				saved := 1 - size/20e6
				t.Logf("%s saves %.1f %%", name, saved*100)
				if saved < want-0.03 || saved > want+0.03 {
					t.Errorf("%s saves %.1f %%, want %.0f", name, saved*100, want*100)
				}
			}
		})
	}
}

func TestFilesRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("mine/here", 0o700); err != nil {
		t.Fatal(err)
	}
	for want, arguments := range map[string][]string{
		"must be a path below":            {"--count", "1", "--directory", "../x"},
		"must be a path below ":           {"--count", "1", "--directory", "/x"},
		"--count 0":                       {"--directory", "x"},
		"--compress-percent 101":          {"--directory", "x", "--count", "1", "--compress-percent", "101"},
		"was not created by this command": {"--directory", "mine", "--count", "1"},
		`--extensions: "a/b"`:             {"--directory", "x", "--count", "1", "--extensions", "a/b"},
		"unexpected argument":             {"--directory", "x", "--count", "1", "y"},
		"flag provided but not defined: ": {"--colour"},
	} {
		if code, said := inFolder(t, arguments...); code == 0 || !strings.Contains(said, strings.TrimSpace(want)) {
			t.Errorf("%v: %d, %s", arguments, code, said)
		}
	}
}
