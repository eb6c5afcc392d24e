package cluster

import (
	"crypto"
	"crypto/tls"
	"fmt"
	"net/netip"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// NodeName is the name of the first node.
	NodeName = "storagebench-node"
	// Region is the region of all nodes.
	Region = "here"
)

// Paths in the node, below its /var, for files of the cluster itself.
const (
	nodeHome        = "/var/lib/storagebench"
	nodeKeys        = nodeHome + "/keys"
	nodeKubeconfigs = nodeHome + "/kubeconfigs"
	nodeConfigs     = nodeHome + "/configs"
	nodeVolumes     = nodeHome + "/volumes"
	nodeShared      = nodeHome + "/shared"
	nodeLogs        = "/var/log/storagebench"
	nodeAuditLog    = nodeLogs + "/audit.log"
)

// Users that Kubernetes does not define.
const (
	dnsUser         = "storagebench:coredns"
	provisionerUser = "storagebench:provisioner"
)

// frontProxyUser is the user as which the API server connects to extension API servers.
const frontProxyUser = "front-proxy-client"

// identities returns the certificate holders of the control plane by file name. A single CA signs their certificates.
func identities(n network) map[string]identity {
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	return map[string]identity{
		"apiserver": {
			user:      "kube-apiserver",
			names:     []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"},
			addresses: []netip.Addr{n.node(0), n.apiService(), loopback},
		},
		"apiserver-kubelet":  {user: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		"admin":              {user: "kubernetes-admin", groups: []string{"system:masters"}},
		"controller-manager": {user: "system:kube-controller-manager", names: []string{"localhost"}, addresses: []netip.Addr{loopback}},
		"scheduler":          {user: "system:kube-scheduler", names: []string{"localhost"}, addresses: []netip.Addr{loopback}},
		"coredns":            {user: dnsUser},
	}
}

// identities returns the certificate holders of a node by file name.
func (m Member) identities(n network) map[string]identity {
	return map[string]identity{
		"kubelet": {
			user: "system:node:" + m.Name(), groups: []string{"system:nodes"},
			names: []string{m.Name()}, addresses: []netip.Addr{n.node(m.place), netip.AddrFrom4([4]byte{127, 0, 0, 1})},
		},
		"kube-proxy":  {user: "system:kube-proxy"},
		"provisioner": {user: provisionerUser},
	}
}

// withKubeconfig lists the identities that are clients of the API server.
var withKubeconfig = []string{"admin", "controller-manager", "scheduler", "kubelet", "kube-proxy", "coredns", "provisioner"}

// writeCredentials creates new keys, certificates and kubeconfigs for the control plane, and the CA that also signs the
// nodes' certificates.
func (s State) writeCredentials(n network, now time.Time) error {
	kubernetes, err := newAuthority("storagebench-test", now)
	if err != nil {
		return err
	}
	pairs := map[string]keyPair{}
	if pairs["ca"], err = kubernetes.pair(); err != nil {
		return err
	}
	for name, who := range identities(n) {
		if pairs[name], err = kubernetes.issue(who); err != nil {
			return err
		}
	}
	// etcd and the front proxy have CAs of their own: a client of etcd bypasses the API server's rules, and the front
	// proxy may act as any user.
	loopback := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	for name, who := range map[string]identity{
		"etcd":        {user: "etcd", addresses: loopback},
		"front-proxy": {user: frontProxyUser},
	} {
		apart, err := newAuthority("storagebench-test-"+name, now)
		if err != nil {
			return err
		}
		if pairs[name+"-ca"], err = apart.pair(); err != nil {
			return err
		}
		if pairs[name], err = apart.issue(who); err != nil {
			return err
		}
	}
	// Signing service account tokens takes only a key pair. The certificate is a container for the public key.
	if pairs["service-accounts"], err = kubernetes.issue(identity{user: "service-accounts"}); err != nil {
		return err
	}
	return s.Member(0).writeKeys(n, kubernetes, pairs)
}

// writeCredentials creates the keys, certificates and kubeconfigs of a node.
func (m Member) writeCredentials(n network) error {
	kubernetes, err := m.state.authority()
	if err != nil {
		return err
	}
	pairs := map[string]keyPair{}
	for name, who := range m.identities(n) {
		if pairs[name], err = kubernetes.issue(who); err != nil {
			return err
		}
	}
	if err := writeFile(m.Outside(nodeKeys+"/ca.crt"), kubernetes.pem(), 0o644); err != nil {
		return err
	}
	return m.writeKeys(n, kubernetes, pairs)
}

// authority reads the cluster's CA from its files.
func (s State) authority() (authority, error) {
	base := s.outside(nodeKeys + "/ca")
	pair, err := tls.LoadX509KeyPair(base+".crt", base+".key")
	if err != nil {
		return authority{}, fmt.Errorf("reading the authority of the cluster: %w", err)
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return authority{}, fmt.Errorf("the key of the authority, a %T, cannot sign", pair.PrivateKey)
	}
	return authority{certificate: pair.Leaf, key: key}, nil
}

func (m Member) writeKeys(n network, authority authority, pairs map[string]keyPair) error {
	for name, pair := range pairs {
		base := m.Outside(nodeKeys + "/" + name)
		if err := writeFile(base+".crt", pair.certificate, 0o644); err != nil {
			return err
		}
		if err := writeFile(base+".key", pair.key, 0o600); err != nil {
			return err
		}
	}
	for _, name := range withKubeconfig {
		if _, ours := pairs[name]; !ours {
			continue
		}
		data, err := kubeconfig(n, authority, name, pairs[name])
		if err != nil {
			return err
		}
		if err := writeFile(m.Outside(nodeKubeconfigs+"/"+name), data, 0o600); err != nil {
			return err
		}
		if name == "admin" {
			if err := writeFile(m.state.Kubeconfig(), data, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func kubeconfig(n network, ca authority, user string, pair keyPair) ([]byte, error) {
	const name = "storagebench-test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: n.apiServer(), CertificateAuthorityData: ca.pem()}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: pair.certificate, ClientKeyData: pair.key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig of %s: %w", user, err)
	}
	return data, nil
}
