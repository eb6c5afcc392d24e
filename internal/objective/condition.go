package objective

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// mostNamed is the maximum number of objectives named in one message.
const mostNamed = 3

// Condition derives the ObjectivesMet condition from the results of the objectives.
func Condition(results []v1alpha1.ObjectiveResult) (status metav1.ConditionStatus, reason, message string) {
	if len(results) == 0 {
		return metav1.ConditionTrue, v1alpha1.ReasonNoObjectives, ""
	}
	overall := Overall(results)
	switch overall {
	case v1alpha1.VerdictMet:
		return metav1.ConditionTrue, v1alpha1.ReasonAllMet, fmt.Sprintf("%d of %d objectives met", len(results), len(results))
	case v1alpha1.VerdictMissed:
		return metav1.ConditionFalse, v1alpha1.ReasonObjectiveMissed, told(results, overall)
	case v1alpha1.VerdictUnknown:
	}
	return metav1.ConditionUnknown, v1alpha1.ReasonFigureAbsent, told(results, overall)
}

// told describes the first objectives with the given verdict, and counts the others.
func told(results []v1alpha1.ObjectiveResult, verdict v1alpha1.Verdict) string {
	var lines []string
	count := 0
	for i := range results {
		if results[i].Verdict != verdict {
			continue
		}
		if count++; count <= mostNamed {
			lines = append(lines, results[i].Name+": "+results[i].Figure+": "+results[i].Message)
		}
	}
	text := strings.Join(lines, "; ")
	if more := count - mostNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
