package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
)

// CommandProfile runs a user-supplied program from the clients' image and measures its I/O.
type CommandProfile struct {
	// command is the program and its arguments. It runs without a shell. The placeholders $(DATA),
	// $(CLIENT) and $(AGENT) are replaced with the client's directory, the client's index, and the
	// agent's program; $$( is a literal $(.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Command []string `json:"command"`

	// setup is the program, with its arguments, that creates the data for command. It runs before command and is not
	// measured. A prepare phase runs only setup.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Setup []string `json:"setup,omitempty"`

	// workingDirectory is the working directory, relative to the client's directory. It is created if missing. Defaults
	// to the client's directory.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('^/|(^|/)[.][.]?(/|$)|//|[[:cntrl:]]|/$')",message="workingDirectory: must be relative to the client's directory, without '.', '..', double or trailing slashes or control characters"
	WorkingDirectory string `json:"workingDirectory,omitempty"`

	// datasetSize is the maximum number of bytes that setup and command write per client. The run checks that there is
	// enough free space before it starts the program.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[string(self)].all(s, isQuantity(s) && (quantity(s).isInteger() || s.endsWith('i')) && sign(quantity(s)) > 0 && !quantity(s).isGreaterThan(quantity('1Pi')))",message="a whole number of bytes above zero, such as 8Gi"
	DatasetSize *resource.Quantity `json:"datasetSize,omitempty"`

	// successExitCodes are the exit codes that count as success. Defaults to 0.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=255
	SuccessExitCodes []int32 `json:"successExitCodes,omitempty"`
}
