package cluster

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestConfigs compares the configuration files with golden files, for a machine with all optional capabilities and for
// one with none.
func TestConfigs(t *testing.T) {
	state := State{folder: "/var/lib/storagebench-test"}
	machines := map[string]machine{
		"full": {MayLowerOOMScore: true, Snapshotter: "overlayfs", NetworkPlugins: "/usr/lib/cni"},
		"bare": {Snapshotter: "native", NetworkPlugins: "/opt/cni/bin"},
	}
	for name, machine := range machines {
		files, err := configs(state.Member(0).configValues(network{All: candidates[0]}, machine))
		if err != nil {
			t.Fatal(err)
		}
		for file, got := range files {
			if filepath.Ext(file) == ".yaml" {
				var parsed map[string]any
				if err := yaml.UnmarshalStrict(got, &parsed); err != nil {
					t.Errorf("%s of a %s machine: %v", file, name, err)
				}
			}
			golden := filepath.Join("testdata", name, filepath.Base(file))
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s of a %s machine is\n%s\nwant\n%s", file, name, got, want)
			}
		}
	}
}

// TestCredentialsFitTogether requires that each kubeconfig has a certificate for its user, signed by the CA that the
// API server trusts, and an address for which the API server has a certificate.
func TestCredentialsFitTogether(t *testing.T) {
	state, n := State{folder: t.TempDir()}, network{All: candidates[0]}
	if err := state.writeCredentials(n, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := state.Member(0).writeCredentials(n); err != nil {
		t.Fatal(err)
	}
	all := identities(n)
	maps.Copy(all, state.Member(0).identities(n))
	authority := x509.NewCertPool()
	authority.AddCert(readCertificate(t, state, "ca"))
	server := readCertificate(t, state, "apiserver")
	for _, name := range []string{n.node(0).String(), n.apiService().String(), "kubernetes.default.svc"} {
		if _, err := server.Verify(x509.VerifyOptions{DNSName: name, Roots: authority}); err != nil {
			t.Errorf("the API server as %s: %v", name, err)
		}
	}
	for _, user := range withKubeconfig {
		config, err := clientcmd.BuildConfigFromFlags("", state.outside(nodeKubeconfigs+"/"+user))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(config.CertData)
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if want := all[user].user; certificate.Subject.CommonName != want {
			t.Errorf("the certificate of %s is for %s, want %s", user, certificate.Subject.CommonName, want)
		}
		options := x509.VerifyOptions{Roots: authority, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if _, err := certificate.Verify(options); err != nil {
			t.Errorf("%s: %v", user, err)
		}
		if config.Host != n.apiServer() {
			t.Errorf("the address of %s is %s, want %s", user, config.Host, n.apiServer())
		}
	}
	// Clients of the API server must have no access to etcd.
	etcd := x509.NewCertPool()
	etcd.AddCert(readCertificate(t, state, "etcd-ca"))
	if _, err := readCertificate(t, state, "admin").Verify(x509.VerifyOptions{Roots: etcd}); err == nil {
		t.Error("etcd trusts the administrator of the API server")
	}
	if info, err := os.Stat(state.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig: %v, %v", info, err)
	}
}

func readCertificate(t *testing.T, state State, name string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(state.outside(nodeKeys + "/" + name + ".crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
