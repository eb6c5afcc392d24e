package record

import (
	"cmp"
	"fmt"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
)

func condition(run *v1alpha1.BenchmarkRun, kind string) *metav1.Condition {
	return meta.FindStatusCondition(run.Status.Conditions, kind)
}

// failed returns the Failed condition if it is True, otherwise nil.
func failed(run *v1alpha1.BenchmarkRun) *metav1.Condition {
	if found := condition(run, v1alpha1.ConditionFailed); found != nil && found.Status == metav1.ConditionTrue {
		return found
	}
	return nil
}

// set sets a condition. It truncates the time to whole seconds, as the API server does.
func set(run *v1alpha1.BenchmarkRun, kind string, status metav1.ConditionStatus, reason, message string, now time.Time) {
	meta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		Reason:             reason,
		Message:            v1alpha1.Truncate(message, maxConditionMessage),
		LastTransitionTime: metav1.Time{Time: now.Round(0).UTC().Truncate(time.Second)},
	})
}

// reasons maps the failure reasons of package decide, agents and tools to the API's reasons. A reason that is neither
// here nor in documentedReasons becomes StepFailed. If a reason is replaced, the message contains the original reason.
var reasons = map[string]string{
	"NoSpace":            v1alpha1.ReasonNotEnoughSpace,
	"QuotaExceeded":      v1alpha1.ReasonNotEnoughSpace,
	"NoInodes":           v1alpha1.ReasonNotEnoughSpace,
	"VolumeUnfit":        v1alpha1.ReasonMountNotFound,
	"DirectoryMissing":   v1alpha1.ReasonMountNotFound,
	"BadOption":          v1alpha1.ReasonInvalidWorkload,
	"BadEngine":          v1alpha1.ReasonInvalidWorkload,
	"EngineBlocked":      v1alpha1.ReasonInvalidWorkload,
	"DirectNotSupported": v1alpha1.ReasonInvalidWorkload,
	"ToolMissing":        v1alpha1.ReasonToolFailed,
	"IOError":            v1alpha1.ReasonToolFailed,
	"CommandFailed":      v1alpha1.ReasonToolFailed,
	"SetupFailed":        v1alpha1.ReasonToolFailed,
	"ReadOnly":           v1alpha1.ReasonToolFailed,
	"PermissionDenied":   v1alpha1.ReasonToolFailed,
	"TooManyFiles":       v1alpha1.ReasonToolFailed,
	"NoMemory":           v1alpha1.ReasonToolFailed,
	"Killed":             v1alpha1.ReasonToolFailed,
	"Crashed":            v1alpha1.ReasonToolFailed,
	"Stuck":              v1alpha1.ReasonToolFailed,
	"Hung":               v1alpha1.ReasonToolFailed,
	"NoOutput":           v1alpha1.ReasonToolFailed,
	"Truncated":          v1alpha1.ReasonToolFailed,
	"InvalidOutput":      v1alpha1.ReasonToolFailed,
	"NoIO":               v1alpha1.ReasonToolFailed,
	"WrongAgent":         v1alpha1.ReasonInternalError,
	"BadAddress":         v1alpha1.ReasonInternalError,
	"BadRecord":          v1alpha1.ReasonInternalError,
	"BadResult":          v1alpha1.ReasonInternalError,
	"ProtocolMismatch":   v1alpha1.ReasonInternalError,
}

// documentedReasons are the API's reasons for the Failed condition.
var documentedReasons = map[string]bool{
	v1alpha1.ReasonStartTimeout: true, v1alpha1.ReasonDeadlineExceeded: true, v1alpha1.ReasonStepFailed: true,
	v1alpha1.ReasonToolFailed: true, v1alpha1.ReasonInvalidWorkload: true, v1alpha1.ReasonMountNotFound: true,
	v1alpha1.ReasonClaimUnfit: true, v1alpha1.ReasonVolumeInUse: true,
	v1alpha1.ReasonNotEnoughSpace: true, v1alpha1.ReasonClientLost: true, v1alpha1.ReasonPreempted: true,
	v1alpha1.ReasonReplaced: true, v1alpha1.ReasonStopped: true, v1alpha1.ReasonInternalError: true,
}

// word matches well-formed reasons. A reason in any other form comes from a faulty agent and is omitted from the
// message.
var word = regexp.MustCompile(`^[A-Za-z]{1,40}$`)

// documented translates a failure into a reason of the API and a message.
func documented(failure decide.Failure) (reason, message string) {
	if documentedReasons[failure.Reason] {
		return failure.Reason, failure.Message
	}
	reason = cmp.Or(reasons[failure.Reason], v1alpha1.ReasonStepFailed)
	if !word.MatchString(failure.Reason) {
		return reason, failure.Message
	}
	return reason, fmt.Sprintf("%s (%s)", v1alpha1.Truncate(failure.Message, maxConditionMessage-len(failure.Reason)-3), failure.Reason)
}
