package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
)

// These texts follow the kernel's documentation and source, because no server is available here.
const (
	nfsText = `device proc mounted on /proc with fstype proc
device 10.0.0.1:/other mounted on /data2 with fstype nfs4 statvers=1.1
	bytes:	1 2 3 4 5 6 7 8
device 10.0.0.1:/fsx mounted on /my\040data with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.1,rsize=1048576
	age:	12
	bytes:	100 200 300 400 1500 2500 7 8
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	per-op statistics
	        NULL: 1 1 0 44 24 0 0 0 0
	        READ: 15 15 0 3000 16000 0 10 12 0
	       WRITE: 25 25 0 26000 4000 0 10 12 0
device 10.0.0.1:/third mounted on /data3 with fstype nfs4 statvers=1.1
	bytes:	9 9 9 9 9 9 9 9
	        READ: 9 9
`
	cifsText = `Resources in use
CIFS Session: 1
Share (unique mount targets): 2
0 session 0 share reconnects
Total vfs operations: 40 maximum at one time: 2

Max requests in flight: 3
1) \\server\share
SMBs: 20
Bytes read: 1500  Bytes written: 2500
Open files: 1 total (local), 0 open on server
TreeConnects: 1 total 0 failed
Reads: 15 total 0 failed
Writes: 25 total 1 failed
2) \\server\share2	DISCONNECTED
SMBs: 2
Bytes read: 7  Bytes written: 8
`
	lustreText = `snapshot_time             1378576928.123 secs.usecs
read_bytes                15 samples [bytes] 0 4194304 1500
write_bytes               25 samples [bytes] 1 4194304 2500
open                      2 samples [regs]
`
)

var wantedCount = mountCount{readBytes: 1500, writeBytes: 2500, hasOperations: true, readOperations: 15, writeOperations: 25}

func TestMountStatistics(t *testing.T) {
	t.Parallel()
	if got, known := parseNFS(nfsText, "/my data"); !known || got != wantedCount {
		t.Errorf("NFS: %+v, %t", got, known)
	}
	for _, point := range []string{"/proc", "/data", "/elsewhere"} {
		if got, known := parseNFS(nfsText, point); known {
			t.Errorf("NFS at %s: %+v", point, got)
		}
	}
	for _, source := range []string{"//server/share", "//SERVER/Share/folder/below", `\\server\share`} {
		if got, known := parseCIFS(cifsText, source); !known || got != wantedCount {
			t.Errorf("SMB of %s: %+v, %t", source, got, known)
		}
	}
	if got, known := parseCIFS(cifsText, "//server/share2"); !known || got.readBytes != 7 || got.hasOperations {
		t.Errorf("SMB: %+v, %t", got, known)
	}
	for _, source := range []string{"//server/shar", "//other/share", "//server/share3", ""} {
		if got, known := parseCIFS(cifsText, source); known {
			t.Errorf("SMB of %q: %+v", source, got)
		}
	}
	if got, known := parseCIFS(cifsText+"3) \\\\server\\share\nBytes read: 1  Bytes written: 1\n", "//server/share"); known {
		t.Errorf("a share that is there twice: %+v", got)
	}
	if got := wantedCount.since(mountCount{readBytes: 500, writeBytes: 3000, readOperations: 5}); got != (mountCount{1000, 0, true, 10, 25}) {
		t.Errorf("%+v", got)
	}
}

func TestLustreStatistics(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put := func(name string) {
		agenttest.Must(t, os.MkdirAll(filepath.Join(folder, name), 0o700))
		agenttest.Must(t, os.WriteFile(filepath.Join(folder, name, "stats"), []byte(lustreText), 0o600))
	}
	put("fsx-ffff9d2a1c4e8000")
	put("fsx2-ffff9d2a1c4e9000")
	if got, known := readLustre(folder, "10.0.0.1@tcp:/fsx/bench"); !known || got != wantedCount {
		t.Errorf("%+v, %t", got, known)
	}
	for _, source := range []string{"10.0.0.1@tcp:/fs", "server:", "fsx", ""} {
		if _, known := readLustre(folder, source); known {
			t.Errorf("%q is known", source)
		}
	}
	put("fsx-ffff9d2a1c4ea000")
	if _, known := readLustre(folder, "10.0.0.1@tcp:/fsx"); known {
		t.Error("one of two mounts is known")
	}
}
