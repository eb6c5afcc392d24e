package lab

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/output"
)

// Share describes the share of a Samba server.
type Share struct {
	// Folder is the shared folder on this computer. If it is empty, a temporary folder of the test is shared.
	Folder string
	// Options are additional lines for smb.conf, such as "read only = yes".
	Options []string
}

// Samba is an SMB server on this computer, for machines. It has one share, named "share". The user is root.
type Samba struct {
	// Port is the server's port on the loopback.
	Port int
	// Folder is the shared folder.
	Folder string

	config string
	server *exec.Cmd
	said   *output.Buffer
}

// Command returns a shell command that mounts the share at a folder, with more options, such as ",actimeo=30".
func (s *Samba) Command(at, more string) string {
	return fmt.Sprintf("modprobe cifs && mount -t cifs //%[1]s/share %[2]s -o ip=%[1]s,port=%[3]d,user=root,pass=%[4]s,vers=3.1.1%[5]s",
		Host, at, s.Port, password, more)
}

const password = "lab" // #nosec G101 -- of a server on the loopback that lives as long as a test

// StartSamba starts a server, which runs until the test ends.
func StartSamba(t testing.TB, share Share) *Samba {
	t.Helper()
	base := t.TempDir()
	if share.Folder == "" {
		share.Folder = t.TempDir()
	}
	s := &Samba{Port: freePort(t), Folder: share.Folder, config: filepath.Join(base, "smb.conf")}
	for _, name := range []string{"private", "state", "lock", "cache", "ncalrpc"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.NewReplacer("BASE", base, "PORT", strconv.Itoa(s.Port), "FOLDER", share.Folder).Replace(sambaConfig)
	for _, option := range share.Options {
		text += "  " + option + "\n"
	}
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	add := exec.Command("smbpasswd", "-c", s.config, "-a", "-s", "root")
	add.Stdin = strings.NewReader(password + "\n" + password + "\n")
	if output, err := add.CombinedOutput(); err != nil {
		t.Fatalf("smbpasswd (Debian's samba; it needs root): %v: %s", err, output)
	}
	s.Start(t)
	t.Cleanup(s.Kill)
	return s
}

// Start starts the server again after Kill, on the same port.
func (s *Samba) Start(t testing.TB) {
	t.Helper()
	s.said = &output.Buffer{}
	s.server = exec.Command("smbd", "--foreground", "--no-process-group", "-s", s.config)
	s.server.Stdout, s.server.Stderr = s.said, s.said
	s.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.server.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)))
		if err == nil {
			_ = connection.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("smbd: %v: %s", err, s.said)
		}
	}
}

// Kill kills the server and its per-client processes.
func (s *Samba) Kill() {
	_ = syscall.Kill(-s.server.Process.Pid, syscall.SIGKILL)
	_ = s.server.Wait()
}

const sambaConfig = `[global]
  server role = standalone server
  smb ports = PORT
  interfaces = lo
  bind interfaces only = yes
  private dir = BASE/private
  state directory = BASE/state
  lock directory = BASE/lock
  cache directory = BASE/cache
  pid directory = BASE/state
  ncalrpc dir = BASE/ncalrpc
  passdb backend = smbpasswd:BASE/private/smbpasswd
  log file = BASE/log
  load printers = no
  disable spoolss = yes
[share]
  path = FOLDER
  read only = no
`

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it is one of TCP
}
