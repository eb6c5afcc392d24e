package lab

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// NFS is the kernel's NFS server in a separate machine. It exports a disk with ext4.
type NFS struct {
	port, mountPort int
	// Freeze pauses the server for a duration.
	Freeze func(time.Duration)
	// controlPort is the port at which the server takes the command of Restart.
	controlPort int
}

// Restart makes the server stop serving for some seconds and then start again, without memory of its NFS 4 clients'
// state, which they reclaim within a grace period of 15 s.
func (n NFS) Restart(t testing.TB, seconds int) {
	t.Helper()
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", n.controlPort))
	if err != nil {
		t.Errorf("restart the NFS server: %v", err)
		return
	}
	_, err = fmt.Fprintln(connection, seconds)
	if err = errors.Join(err, connection.Close()); err != nil {
		t.Errorf("restart the NFS server: %v", err)
	}
}

// Command returns a shell command that mounts the export at a folder, with options such as "vers=4.2,hard". For version
// 3, it also names the port of mountd, because the server's ports are forwarded.
func (n NFS) Command(at, options string) string {
	options += fmt.Sprintf(",port=%d,proto=tcp", n.port)
	export := "/" // NFS 4 clients see the export as the root
	if strings.Contains(options, "vers=3") {
		export = "/export"
		options += fmt.Sprintf(",mountport=%d,mountproto=tcp,nolock", n.mountPort)
	}
	return fmt.Sprintf("modprobe nfsv4; modprobe nfsv3; mount.nfs %s:%s %s -o %s", Host, export, at, options)
}

// StartNFS starts a server that exports a disk. It runs until the test ends. It ends nfsd's grace period at once, and
// shortens that of lockd. Otherwise NFS 4 clients could not open a file for 90 and 50 seconds.
func StartNFS(t testing.TB, disk Disk) NFS {
	t.Helper()
	n := NFS{port: freePort(t), mountPort: freePort(t), controlPort: freePort(t)}
	n.Freeze = Machine{Disks: []Disk{disk}, Ports: map[int]int{n.port: 2049, n.mountPort: 20048, n.controlPort: 9000}}.Serve(t, fmt.Sprintf(`
mkfs.ext4 -q %[1]s && mkdir /export && mount -t ext4 -o noinit_itable %[1]s /export && rmdir /export/lost+found && chmod 777 /export || exit 1
modprobe lockd nlm_timeout=3 nlm_grace_period=1; modprobe nfsd; mount -t nfsd nfsd /proc/fs/nfsd
mkdir -p /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery /var/lib/nfs/nfsdcltrack /run/rpcbind /etc/exports.d; touch /var/lib/nfs/etab /var/lib/nfs/rmtab
echo "/export *(rw,sync,no_root_squash,no_subtree_check,insecure,fsid=0)" > /etc/exports
echo '_rpc:x:100:0::/run/rpcbind:/bin/false' >> /etc/passwd; (rpcbind -f &); until grep -q ':006F ' /proc/net/tcp; do sleep 0.2; done
exportfs -a && rpc.nfsd 8 && rpc.mountd -p 20048 && echo Y > /proc/fs/nfsd/v4_end_grace || exit 1
echo; echo LAB-READY
while seconds=$(nc -l -p 9000 < /dev/null); do rpc.nfsd 0; sleep $seconds; echo 15 > /proc/fs/nfsd/nfsv4gracetime; rpc.nfsd 8; done
`, Path(0)))
	return n
}
