package cluster

import (
	"bytes"
	"embed"
	"fmt"
	"text/template"
)

//go:embed templates
var templateFiles embed.FS

// PauseImage is the image of the container that keeps the namespaces of a pod open.
const PauseImage = "storagebench.invalid/pause:1"

// configValues holds the values for the templates.
type configValues struct {
	machine
	Node        string
	DNS         string
	AllPods     string
	Pods        string
	CgroupRoot  string
	Keys        string
	Kubeconfigs string
	Configs     string
	PauseImage  string
}

func (m Member) configValues(n network, found machine) configValues {
	return configValues{
		machine:     found,
		Node:        n.node(m.place).String(),
		DNS:         n.node(0).String(),
		AllPods:     n.pods().String(),
		Pods:        n.podsOf(m.place).String(),
		CgroupRoot:  m.cgroup(),
		Keys:        nodeKeys,
		Kubeconfigs: nodeKubeconfigs,
		Configs:     nodeConfigs,
		PauseImage:  PauseImage,
	}
}

// configs returns the configuration files of the node by name.
func configs(values configValues) (map[string][]byte, error) {
	files := map[string][]byte{"resolv.conf": nil}
	for name, file := range map[string]string{
		"kubelet.yaml":                 "kubelet.yaml",
		"containerd.toml":              "containerd.toml",
		"cni/10-storagebench.conflist": "cni.conflist",
		"kube-proxy.yaml":              "kube-proxy.yaml",
		"Corefile":                     "Corefile",
		"audit.yaml":                   "audit.yaml",
	} {
		text, err := template.New(file).Option("missingkey=error").ParseFS(templateFiles, "templates/"+file)
		if err != nil {
			return nil, fmt.Errorf("reading the template of %s: %w", name, err)
		}
		var out bytes.Buffer
		if err := text.Execute(&out, values); err != nil {
			return nil, fmt.Errorf("filling the template of %s: %w", name, err)
		}
		files[name] = out.Bytes()
	}
	return files, nil
}

func (m Member) writeConfigs(values configValues) error {
	files, err := configs(values)
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := writeFile(m.Outside(nodeConfigs+"/"+name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
