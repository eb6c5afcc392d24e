package lab

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Samba is a server of SMB on this computer, for machines: one share, "share", of a folder of the test. The user is root.
type Samba struct {
	Port int
	// Folder behind the share.
	Folder string
}

// Options are those of a mount of the share, with more behind them, such as ",actimeo=30".
func (s Samba) Options(more string) string {
	return fmt.Sprintf("ip=%s,port=%d,user=root,pass=%s,vers=3.1.1%s", Host, s.Port, password, more)
}

const password = "lab" // #nosec G101 -- of a server on the loopback that lives as long as a test

// StartSamba starts a server for the time of a test.
func StartSamba(t testing.TB) Samba {
	t.Helper()
	base := t.TempDir()
	s := Samba{Port: freePort(t), Folder: filepath.Join(base, "share")}
	for _, name := range []string{"share", "private", "state", "lock", "cache", "ncalrpc"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(base, "smb.conf")
	text := strings.NewReplacer("BASE", base, "PORT", strconv.Itoa(s.Port)).Replace(sambaConfig)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	add := exec.Command("smbpasswd", "-c", config, "-a", "-s", "root")
	add.Stdin = strings.NewReader(password + "\n" + password + "\n")
	if output, err := add.CombinedOutput(); err != nil {
		t.Fatalf("smbpasswd (Debian's samba; it needs root): %v: %s", err, output)
	}
	var said bytes.Buffer
	server := exec.Command("smbd", "--foreground", "--no-process-group", "-s", config)
	server.Stdout, server.Stderr = &said, &said
	lifeline, err := server.StdinPipe() // smbd ends with it
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = lifeline.Close()
		_ = server.Wait()
	})
	for {
		connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)))
		if err == nil {
			_ = connection.Close()
			return s
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("smbd: %s", said.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
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
  path = BASE/share
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
