package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// krew completes the manifest that krew needs to install the plugin: it fills in the location and checksum of the
// archive for each platform.
func (r release) krew(context.Context) error {
	text, err := os.ReadFile("config/krew/storagebench.yaml")
	if err != nil {
		return fmt.Errorf("read the manifest for krew: %w", err)
	}
	filled := strings.NewReplacer("VERSION", r.version, "URL/", r.url+"/")
	var manifest yaml.Node
	if err := yaml.Unmarshal([]byte(filled.Replace(string(text))), &manifest); err != nil {
		return fmt.Errorf("read the manifest for krew: %w", err)
	}
	platforms := field(field(manifest.Content[0], "spec"), "platforms")
	var kept []*yaml.Node
	for _, p := range r.platforms {
		sum, err := sumOf(r.file(r.archiveOf(p)))
		if err != nil {
			return err
		}
		found := false
		for _, node := range platforms.Content {
			if strings.HasSuffix(field(node, "uri").Value, "/"+r.archiveOf(p)) {
				field(node, "sha256").Value = sum
				kept, found = append(kept, node), true
			}
		}
		if !found {
			return fmt.Errorf("config/krew/storagebench.yaml has no platform with the uri URL/%s", strings.ReplaceAll(r.archiveOf(p), r.version, "VERSION"))
		}
	}
	platforms.Content = kept
	manifest.HeadComment, manifest.Content[0].HeadComment = "", ""
	manifest.Content[0].Content[0].HeadComment = "" // Remove the comment that explains how to fill in the manifest.
	out, err := yaml.Marshal(&manifest)
	if err != nil {
		return fmt.Errorf("write the manifest for krew: %w", err)
	}
	if err := os.WriteFile(r.file("storagebench.yaml"), out, 0o644); err != nil {
		return fmt.Errorf("write the manifest for krew: %w", err)
	}
	return nil
}

// field returns the value of a key in a mapping, or an empty node if there is none.
func field(node *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == name {
			return node.Content[i+1]
		}
	}
	return &yaml.Node{}
}
