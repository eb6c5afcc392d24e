package command

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/internal/dataset"
)

// mountCount holds the bytes and operations that the kernel counts for one mount of a network file system, over all
// programs on the machine.
type mountCount struct {
	readBytes, writeBytes uint64
	// hasOperations is true if the kernel counts operations as well as bytes.
	hasOperations                   bool
	readOperations, writeOperations uint64
}

func (m mountCount) since(before mountCount) mountCount {
	less := func(a, b uint64) uint64 { return max(a, b) - b }
	return mountCount{
		readBytes: less(m.readBytes, before.readBytes), writeBytes: less(m.writeBytes, before.writeBytes), hasOperations: m.hasOperations,
		readOperations: less(m.readOperations, before.readOperations), writeOperations: less(m.writeOperations, before.writeOperations),
	}
}

// readMountStats reads the statistics of a mount. It returns false if the mount's file system provides no statistics,
// or if they cannot be separated from those of other mounts.
func readMountStats(mount dataset.Mount) (mountCount, bool) {
	switch mount.FilesystemType {
	case "nfs", "nfs4":
		if text, err := os.ReadFile("/proc/self/mountstats"); err == nil {
			return parseNFS(string(text), mount.MountPoint)
		}
	case "cifs", "smb3":
		if text, err := os.ReadFile("/proc/fs/cifs/Stats"); err == nil {
			return parseCIFS(string(text), mount.Source)
		}
	case "lustre":
		return readLustre("/proc/fs/lustre/llite", mount.Source)
	}
	return mountCount{}, false
}

// parseNFS reads the block of a mount in /proc/self/mountstats:
//
//	device server:/export mounted on /data with fstype nfs4 statvers=1.1
//		bytes:	<read> <written> <direct read> <direct written> <server read> <server written> <pages> <pages>
//		READ: 12 12 0 ...
//
// The fifth and sixth numbers are the bytes read from and written to the server, by any kind of I/O.
func parseNFS(text, mountPoint string) (mountCount, bool) {
	var found mountCount
	inside, known := false, false
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 4 && words[0] == "device" {
			inside = words[2] == "mounted" && words[4] == octal(mountPoint)
			continue
		}
		if !inside || len(words) < 2 {
			continue
		}
		switch words[0] {
		case "bytes:":
			if len(words) < 7 {
				return mountCount{}, false
			}
			var good [2]bool
			found.readBytes, good[0] = counted(words[5])
			found.writeBytes, good[1] = counted(words[6])
			known = good[0] && good[1]
		case "READ:":
			found.readOperations, found.hasOperations = counted(words[1])
		case "WRITE:":
			found.writeOperations, _ = counted(words[1])
		}
	}
	return found, known
}

// octal escapes blanks and backslashes in a path, as the kernel does in the files of /proc.
func octal(path string) string {
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(path)
}

// parseCIFS reads the block of a share in /proc/fs/cifs/Stats:
//
//  1. \\server\share
//     SMBs: 1234
//     Bytes read: 123  Bytes written: 456
//     Reads: 10 total 0 failed
//     Writes: 20 total 0 failed
//
// A share that is mounted twice with separate sessions has two blocks. Then parseCIFS returns false, because it
// cannot tell which block belongs to the mount.
func parseCIFS(text, source string) (mountCount, bool) {
	share := strings.ToLower(strings.ReplaceAll(strings.TrimRight(source, `/\`), "/", `\`))
	var found mountCount
	inside, blocks, known := false, 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if index, name, is := strings.Cut(line, ") "); is && isNumber(index) {
			name, _, _ = strings.Cut(name, "\t")
			inside = withinShare(share, strings.ToLower(strings.TrimSpace(name)))
			if inside {
				blocks++
			}
			continue
		}
		if !inside {
			continue
		}
		words := strings.Fields(line)
		switch {
		case len(words) >= 6 && strings.HasPrefix(line, "Bytes read:") && words[3] == "Bytes":
			var good [2]bool
			found.readBytes, good[0] = counted(words[2])
			found.writeBytes, good[1] = counted(words[5])
			known = good[0] && good[1]
		case len(words) >= 3 && words[0] == "Reads:" && words[2] == "total":
			found.readOperations, found.hasOperations = counted(words[1])
		case len(words) >= 3 && words[0] == "Writes:" && words[2] == "total":
			found.writeOperations, _ = counted(words[1])
		}
	}
	return found, known && blocks == 1
}

// withinShare reports whether a mount's source is the share or a directory in it.
func withinShare(source, share string) bool {
	return source == share || strings.HasPrefix(source, share+`\`)
}

func isNumber(text string) bool {
	_, good := counted(text)
	return good
}

func counted(text string) (uint64, bool) {
	value, err := strconv.ParseUint(text, 10, 64)
	return value, err == nil
}

// readLustre reads the counters of a Lustre file system. It returns false unless this machine has mounted it exactly
// once. The source has the form 10.0.0.1@tcp:/fsname/directory, and the directories in /proc have names like
// fsname-ffff9d2a1c4e8000.
func readLustre(folder, source string) (mountCount, bool) {
	_, path, isLustre := strings.Cut(source, ":/")
	name, _, _ := strings.Cut(path, "/")
	if !isLustre || name == "" {
		return mountCount{}, false
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return mountCount{}, false
	}
	var found []string
	for _, entry := range entries {
		if at := strings.LastIndex(entry.Name(), "-"); at > 0 && entry.Name()[:at] == name {
			found = append(found, entry.Name())
		}
	}
	if len(found) != 1 {
		return mountCount{}, false
	}
	text, err := os.ReadFile(filepath.Join(folder, found[0], "stats"))
	if err != nil {
		return mountCount{}, false
	}
	return parseLustre(string(text)), true
}

// parseLustre reads lines such as "read_bytes 6 samples [bytes] 0 4194304 25165824": the number of calls, the
// minimum, the maximum and the sum. A counter that is still 0 has no line.
func parseLustre(text string) mountCount {
	found := mountCount{hasOperations: true}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 7 || words[2] != "samples" {
			continue
		}
		switch words[0] {
		case "read_bytes":
			found.readOperations, _ = counted(words[1])
			found.readBytes, _ = counted(words[6])
		case "write_bytes":
			found.writeOperations, _ = counted(words[1])
			found.writeBytes, _ = counted(words[6])
		}
	}
	return found
}
