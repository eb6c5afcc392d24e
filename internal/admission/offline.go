package admission

import (
	"errors"
	"slices"

	"github.com/storagebench/storagebench/internal/schedule"
)

// refine adds the faults of a StorageBenchmark that no rule of the API server can find, and replaces messages of rules
// that cannot name the faulty entry.
func refine(object map[string]any, problems []Problem) []Problem {
	if kind, _ := object["kind"].(string); kind != "StorageBenchmark" {
		return problems
	}
	return refineTrigger(object, problems)
}

const (
	schedulePath = "spec.trigger.schedule"
	timeZonePath = "spec.trigger.timeZone"
	// A longer cron line or time zone is refused for its length.
	longestSchedule, longestTimeZone = 100, 64
)

// refineTrigger parses the cron line and the time zone as the operator does.
func refineTrigger(object map[string]any, problems []Problem) []Problem {
	value, _ := lookUp(object, timeZonePath)
	if zone, is := value.(string); is && zone != "" && len(zone) <= longestTimeZone {
		_, err := schedule.Zone(zone)
		problems = replaced(problems, timeZonePath, zone, err)
	}
	value, _ = lookUp(object, schedulePath)
	if line, is := value.(string); is && len(line) <= longestSchedule {
		_, err := schedule.Parse(line, "")
		problems = replaced(problems, schedulePath, line, err)
	}
	return problems
}

// replaced returns the problems with a fault of the schedule in place of all others of its field.
func replaced(problems []Problem, path, value string, err error) []Problem {
	var fault *schedule.Error
	if !errors.As(err, &fault) {
		return problems
	}
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Path == path })
	return append(problems, Problem{Path: path, Message: show(value) + ": " + fault.Message})
}
