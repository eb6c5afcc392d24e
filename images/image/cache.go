package image

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kept is the number of versions of each cached file that remain in the cache. With two, a user can switch back and
// forth between two versions without building them again.
const kept = 2

// CacheFolder returns the directory for results that take long to produce.
func CacheFolder() (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory (set XDG_CACHE_HOME or HOME): %w", err)
	}
	return filepath.Join(folder, "storagebench", "images"), nil
}

// Cached returns the path of the cached output of produce. It calls produce only if the cache has no output for the
// same inputs. inputs must contain everything that the output depends on.
func Cached(cache, name, inputs string, produce func() ([]byte, error)) (string, error) {
	sum := sha256.Sum256([]byte(inputs))
	file := filepath.Join(cache, name+"-"+hex.EncodeToString(sum[:12]))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("check the cache: %w", err)
	}
	data, err := produce()
	if err != nil {
		return "", err
	}
	err = Replace(file, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store %s in the cache: %w", name, err)
	}
	return file, forget(cache, name)
}

// forget removes old cached versions of a file. It keeps the newest versions, whose number is the constant kept.
func forget(cache, name string) error {
	found, err := os.ReadDir(cache)
	if err != nil {
		return fmt.Errorf("read the cache: %w", err)
	}
	var files []fs.FileInfo
	for _, entry := range found {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has removed the file
		}
		if err != nil {
			return fmt.Errorf("read the cache: %w", err)
		}
		if info.Mode().IsRegular() && strings.HasPrefix(info.Name(), name+"-") {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range files[min(kept, len(files)):] {
		if err := os.Remove(filepath.Join(cache, old.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove an old file from the cache: %w", err)
		}
	}
	return nil
}
