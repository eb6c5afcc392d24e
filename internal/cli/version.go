package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/version"
)

// versionDocument is the output of `version -o json`.
type versionDocument struct {
	SchemaVersion int           `json:"schemaVersion"`
	Client        clientVersion `json:"client"`
	// API is the version of the API that this program uses.
	API string `json:"apiVersion"`
	// Operators lists the operators of the cluster; absent with --client.
	Operators []operatorVersion `json:"operators,omitempty"`
}

type clientVersion struct {
	Version  string `json:"version"`
	Go       string `json:"goVersion"`
	Platform string `json:"platform"`
}

// operatorVersion is the version of an operator. It comes from the operator's Deployment or, if the user is not allowed
// to list Deployments, from the profiles that the operator has installed.
type operatorVersion struct {
	Version   string `json:"version"`
	Namespace string `json:"namespace,omitempty"`
	Image     string `json:"image,omitempty"`
	Ready     *bool  `json:"ready,omitempty"`
}

func newVersion(streams Streams) *cobra.Command {
	var output string
	var clientOnly bool
	command := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of this program and of the operator",
		Long: "Show the versions of this program and of the operator in the cluster. The exit code is 1 if the\n" +
			"operator cannot be found. With --client, only the version of this program is shown.",
		Example: "  kubectl storagebench version\n" +
			"  kubectl storagebench version --client\n" +
			"  kubectl storagebench version --context production -o json",
		Args: numberOfArguments(0, 0),
	}
	flags := newClusterFlags(command)
	command.Flags().BoolVar(&clientOnly, "client", false, "show only the version of this program; do not contact a cluster")
	formFlag(command, &output, "text", "json", "yaml")
	command.RunE = func(command *cobra.Command, _ []string) error {
		document := versionDocument{SchemaVersion: report.SchemaVersion, API: v1alpha1.GroupVersion.String(),
			Client: clientVersion{Version: version.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}}
		var missing error
		if !clientOnly {
			document.Operators, missing = operators(command.Context(), flags)
		}
		if err := printAs(streams.Out, output, document, document.text); err != nil {
			return err
		}
		return missing
	}
	return command
}

func (d versionDocument) text(w io.Writer) error {
	lines := []string{fmt.Sprintf("Client:    %s (%s, %s, API %s)", d.Client.Version, d.Client.Go, d.Client.Platform, d.API)}
	for _, one := range d.Operators {
		line := "Operator:  " + one.Version
		if one.Namespace != "" {
			line += " in namespace " + one.Namespace
		}
		if one.Ready != nil && !*one.Ready {
			line += ", not ready"
		}
		lines = append(lines, line)
	}
	for _, one := range d.Operators {
		if one.Version != d.Client.Version {
			lines = append(lines, "The versions differ: this program might not support all fields of the operator's runs. Use the same version for both.")
			break
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// operators finds the operators of the cluster.
func operators(ctx context.Context, flags *clusterFlags) ([]operatorVersion, error) {
	cluster, err := flags.connect()
	if err != nil {
		return nil, err
	}
	found, err := cluster.client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=storagebench,app.kubernetes.io/component=operator"})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("find the operator: %w", explained(err))
	}
	var all []operatorVersion
	if err == nil {
		for i := range found.Items {
			deployment := &appsv1.Deployment{}
			if err := decode(&found.Items[i], deployment); err != nil {
				return nil, err
			}
			all = append(all, operatorOf(deployment))
		}
		if len(all) == 0 {
			return nil, errors.New("the cluster has no storagebench operator: install it (docs/install.md)")
		}
		return all, nil
	}
	// The user lacks permission to list Deployments of all namespaces, but usually can read the library of profiles.
	profiles, err := cluster.client.Resource(clusterProfileResource).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelLibrary})
	if err != nil {
		return nil, explained(err)
	}
	for i := range profiles.Items {
		one := operatorVersion{Version: profiles.Items[i].GetAnnotations()[v1alpha1.AnnotationLibraryVersion]}
		if one.Version != "" && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("cannot determine the version of the operator: you are not allowed to list Deployments, and the cluster has no profiles from the operator's library; to show only the version of this program, use --client")
	}
	return all, nil
}

// operatorOf describes the operator that a Deployment runs. The version comes from the Deployment's version label or,
// if it has none, from the image tag.
func operatorOf(deployment *appsv1.Deployment) operatorVersion {
	ready := deployment.Status.ReadyReplicas > 0
	made := operatorVersion{Namespace: deployment.Namespace, Version: deployment.Labels["app.kubernetes.io/version"], Ready: &ready}
	if containers := deployment.Spec.Template.Spec.Containers; len(containers) > 0 {
		made.Image = containers[0].Image
	}
	name, _, _ := strings.Cut(made.Image, "@")
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		made.Version = cmp.Or(made.Version, name[at+1:])
	}
	made.Version = cmp.Or(made.Version, "unknown")
	return made
}
