package tool

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// Reasons for refusing a step while it is being loaded.
const (
	ReasonVolume      = "VolumeUnfit"
	ReasonNoSpace     = "NoSpace"
	ReasonNoInodes    = "NoInodes"
	ReasonReadOnly    = "ReadOnly"
	ReasonMissing     = "DirectoryMissing"
	ReasonNotPrepared = "NotPrepared"
	ReasonTool        = "ToolFailed"
	// ReasonHeld means that the client's previous agent still has the directory locked.
	ReasonHeld = "DirectoryHeld"
)

// Refuse returns the error with which Load refuses a step.
func Refuse(reason string, err error) error {
	return WithReason(status.New(codes.FailedPrecondition, err.Error()), reason)
}

// WithReason adds a machine-readable reason to a refusal, for the conductor.
func WithReason(refusal *status.Status, reason string) error {
	if detailed, err := refusal.WithDetails(&errdetails.ErrorInfo{Reason: reason, Domain: agentapi.Domain}); err == nil {
		refusal = detailed
	}
	return refusal.Err()
}

// ReasonOf returns the refusal reason for an error of the dataset package.
func ReasonOf(err error) string {
	switch {
	case errors.Is(err, dataset.ErrNoSpace):
		return ReasonNoSpace
	case errors.Is(err, dataset.ErrNoInodes):
		return ReasonNoInodes
	case errors.Is(err, dataset.ErrReadOnly), errors.Is(err, dataset.ErrPermission), errors.Is(err, dataset.ErrRefused):
		return ReasonReadOnly
	case errors.Is(err, dataset.ErrMissing):
		return ReasonMissing
	case errors.Is(err, dataset.ErrHeld):
		return ReasonHeld
	}
	return ReasonVolume
}
