package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// Clients are the pods that load a target, the same number for each target.
type Clients struct {
	// count of clients a target.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Count int32 `json:"count,omitempty"`

	// spread is OnePerNode, which gives each client a node to itself (and
	// targets that are loaded together disjoint nodes), or Any, for a cluster
	// with fewer nodes than clients.
	// +optional
	// +kubebuilder:default=OnePerNode
	Spread Spread `json:"spread,omitempty"`

	// processesPerClient is the number of MPI ranks a client. Only for ior and
	// mdtest.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	ProcessesPerClient int32 `json:"processesPerClient,omitempty"`

	// image of the clients. Absent: the operator's default for the engine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^[:space:][:cntrl:]]+$')",message="image: the reference of a container image, without spaces"
	Image string `json:"image,omitempty"`

	// onLoss says what happens when a client is lost: RestartStep repeats the
	// step with a replacement, FailRun ends the run, ContinueDegraded goes on
	// with the others (not for MPI).
	// +optional
	// +kubebuilder:default=RestartStep
	OnLoss OnLoss `json:"onLoss,omitempty"`

	// maxRestarts is how often a step may be repeated for lost clients.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`

	// template is what may be said of the pods. It is a closed list: volumes,
	// environment, service account, host namespaces but the network, ports
	// and further containers are never the user's to set.
	// +optional
	Template *PodTemplate `json:"template,omitempty"`
}

// Spread says how clients are placed on nodes.
//
// +kubebuilder:validation:Enum=OnePerNode;Any
type Spread string

// The ways to spread clients.
const (
	// SpreadOnePerNode gives each client a node to itself.
	SpreadOnePerNode Spread = "OnePerNode"
	// SpreadAny lets clients share nodes, which the results then say.
	SpreadAny Spread = "Any"
)

// OnLoss says what happens when a client is lost.
//
// +kubebuilder:validation:Enum=RestartStep;FailRun;ContinueDegraded
type OnLoss string

// What can be done about a lost client.
const (
	// OnLossRestartStep repeats the step with a replacement.
	OnLossRestartStep OnLoss = "RestartStep"
	// OnLossFailRun ends the run as failed.
	OnLossFailRun OnLoss = "FailRun"
	// OnLossContinueDegraded goes on with the clients that are left.
	OnLossContinueDegraded OnLoss = "ContinueDegraded"
)

// PodTemplate is the closed list of what may be said of client pods.
type PodTemplate struct {
	// labels that are added to the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('storagebench.dev/'))",message="labels: those of storagebench.dev/ are set by the operator; remove them"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="labels: keys have at most 317 characters, values at most 63; shorten them"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations that are added to the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('storagebench.dev/'))",message="annotations: those of storagebench.dev/ are set by the operator; remove them"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 4096)",message="annotations: keys have at most 317 characters, values at most 4096; shorten them"
	Annotations map[string]string `json:"annotations,omitempty"`

	// resources of the container that runs the tool.
	// +optional
	Resources *ClientResources `json:"resources,omitempty"`

	// nodeSelector that the nodes have to match.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="nodeSelector: keys have at most 317 characters, values at most 63; shorten them"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// affinity of the pods, beside what spread adds.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// tolerations of the pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// topologySpreadConstraints of the pods, beside what spread adds.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// imagePullSecrets of the pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// securityContext of the pods.
	// +optional
	SecurityContext *ClientSecurityContext `json:"securityContext,omitempty"`

	// hostNetwork lets the clients use the network of their node.
	// +optional
	HostNetwork *bool `json:"hostNetwork,omitempty"`
}

// ClientResources are requests and limits of a client.
type ClientResources struct {
	// requests are the least that the client gets.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, isQuantity(string(self[k])))",message="requests: a quantity such as 500m or 2Gi for each resource"
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits are the most that the client gets. A CPU limit throttles the
	// tool; the result says when it did.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, isQuantity(string(self[k])))",message="limits: a quantity such as 500m or 2Gi for each resource"
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// ClientSecurityContext is the part of a pod's security context that says who
// owns the files. The rest is fixed to what Pod Security "restricted" asks.
type ClientSecurityContext struct {
	// runAsUser is the user of the tool. 0 needs a namespace whose Pod
	// Security level allows it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// runAsGroup is the primary group of the tool.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`

	// fsGroup owns the volumes, where their driver supports that.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	FSGroup *int64 `json:"fsGroup,omitempty"`

	// fsGroupChangePolicy says when owners are changed.
	// +optional
	// +kubebuilder:validation:Enum=OnRootMismatch;Always
	FSGroupChangePolicy *corev1.PodFSGroupChangePolicy `json:"fsGroupChangePolicy,omitempty"`

	// supplementalGroups of the tool.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty"`

	// seLinuxOptions of the pods.
	// +optional
	SELinuxOptions *corev1.SELinuxOptions `json:"seLinuxOptions,omitempty"`
}
