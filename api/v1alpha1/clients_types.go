package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// Clients are the pods that load a target. Each target has the same number of clients.
type Clients struct {
	// count is the number of clients per target. All targets together can have at most 1000.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Count int32 `json:"count,omitempty"`

	// spread is OnePerNode (one client per node, across all targets of the run), PreferOnePerNode (clients share nodes
	// only if there are too few nodes), or Any. The results have a warning if clients shared a node.
	// +optional
	// +kubebuilder:default=OnePerNode
	Spread Spread `json:"spread,omitempty"`

	// processesPerClient is the number of MPI ranks per client. Only for ior and mdtest.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1024
	ProcessesPerClient int32 `json:"processesPerClient,omitempty"`

	// image is the container image of the clients. Defaults to the operator's image for the engine.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^[:space:][:cntrl:]]+$')",message="image: must be an image reference without spaces"
	Image string `json:"image,omitempty"`

	// onLoss is the reaction to the loss of a client: RestartStep repeats the step with a
	// replacement, FailRun fails the run, ContinueDegraded continues with the remaining clients
	// (not for MPI).
	// +optional
	// +kubebuilder:default=RestartStep
	OnLoss OnLoss `json:"onLoss,omitempty"`

	// maxRestarts limits how many times each client may be replaced in the run. The step in which a client is lost is
	// repeated with the replacement. maxRestarts also limits how many times an MPI step may be repeated because its
	// clients lost their connection to each other.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	MaxRestarts *int32 `json:"maxRestarts,omitempty"`

	// template sets properties of the pods. Other properties, such as volumes, environment, service account, host
	// namespaces other than the network, ports and additional containers, cannot be set.
	// +optional
	Template *PodTemplate `json:"template,omitempty"`
}

// Spread determines how clients are placed on nodes.
//
// +kubebuilder:validation:Enum=OnePerNode;PreferOnePerNode;Any
type Spread string

const (
	// SpreadOnePerNode gives each client its own node.
	SpreadOnePerNode Spread = "OnePerNode"
	// SpreadPreferOnePerNode lets clients share nodes only if there are too few nodes; the results then have a
	// warning.
	SpreadPreferOnePerNode Spread = "PreferOnePerNode"
	// SpreadAny lets clients share nodes. If they do, the results have a warning.
	SpreadAny Spread = "Any"
)

// OnePerNode reports whether each client needs its own node, which is the default.
func (c *Clients) OnePerNode() bool {
	return c.Spread != SpreadAny && c.Spread != SpreadPreferOnePerNode
}

// OnLoss is the reaction to the loss of a client.
//
// +kubebuilder:validation:Enum=RestartStep;FailRun;ContinueDegraded
type OnLoss string

const (
	// OnLossRestartStep repeats the step with a replacement.
	OnLossRestartStep OnLoss = "RestartStep"
	// OnLossFailRun fails the run.
	OnLossFailRun OnLoss = "FailRun"
	// OnLossContinueDegraded continues with the remaining clients.
	OnLossContinueDegraded OnLoss = "ContinueDegraded"
)

// PodTemplate holds the properties of the client pods that users may set.
type PodTemplate struct {
	// labels are added to the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('storagebench.dev/'))",message="labels: the prefix storagebench.dev/ is reserved; remove such keys"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="labels: at most 317 characters per key, 63 per value; shorten them"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are added to the pods.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('storagebench.dev/'))",message="annotations: the prefix storagebench.dev/ is reserved; remove such keys"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('container.apparmor.security.beta.kubernetes.io/'))",message="annotations: AppArmor always uses the runtime's default profile; remove the key"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 4096)",message="annotations: at most 317 characters per key, 4096 per value; shorten them"
	Annotations map[string]string `json:"annotations,omitempty"`

	// resources are the resource requests and limits of the container that runs the tool.
	// +optional
	Resources *ClientResources `json:"resources,omitempty"`

	// nodeSelector lists the labels that nodes must have.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="nodeSelector: at most 317 characters per key, 63 per value; shorten them"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// affinity is the affinity of the pods, in addition to what spread adds.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// tolerations are the tolerations of the pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// topologySpreadConstraints are the topology spread constraints of the pods, in addition to what spread adds.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the PriorityClass of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// imagePullSecrets are the Secrets for pulling the image.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// securityContext is the security context of the pods.
	// +optional
	SecurityContext *ClientSecurityContext `json:"securityContext,omitempty"`

	// hostNetwork runs the clients in their node's network namespace.
	// +optional
	HostNetwork *bool `json:"hostNetwork,omitempty"`
}

// ClientResources are the resource requests and limits of a client.
type ClientResources struct {
	// requests are the resources guaranteed to the client.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, isQuantity(string(self[k])))",message="requests: use quantities such as 500m or 2Gi"
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits are the maximum resources that the client can use. A CPU limit may throttle the tool; the result then has
	// a warning.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, isQuantity(string(self[k])))",message="limits: use quantities such as 500m or 2Gi"
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// ClientSecurityContext holds the fields of a pod's security context that determine file ownership. The other fields
// are set as the Pod Security level "restricted" requires.
type ClientSecurityContext struct {
	// runAsUser is the user ID of the tool. 0 requires a namespace whose Pod Security level allows root.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsUser *int64 `json:"runAsUser,omitempty"`

	// runAsGroup is the primary group ID of the tool.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`

	// fsGroup is the group ID that owns the volumes, if their driver supports it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	FSGroup *int64 `json:"fsGroup,omitempty"`

	// fsGroupChangePolicy determines when volume ownership is changed.
	// +optional
	// +kubebuilder:validation:Enum=OnRootMismatch;Always
	FSGroupChangePolicy *corev1.PodFSGroupChangePolicy `json:"fsGroupChangePolicy,omitempty"`

	// supplementalGroups are additional group IDs of the tool.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty"`

	// seLinuxOptions are the SELinux options of the pods, within what the Pod Security level "restricted" allows.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type in ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']",message="type: must be container_t, container_init_t, container_kvm_t or container_engine_t (Pod Security)"
	// +kubebuilder:validation:XValidation:rule="(!has(self.user) || self.user == '') && (!has(self.role) || self.role == '')",message="user and role: Pod Security allows neither; remove them"
	SELinuxOptions *corev1.SELinuxOptions `json:"seLinuxOptions,omitempty"`
}
