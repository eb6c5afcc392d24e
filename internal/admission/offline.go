package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/schedule"
	"github.com/storagebench/storagebench/internal/spelling"
)

// refine adds the errors in a StorageBenchmark that the API server's validation rules cannot find. If a rule finds an
// error but cannot name the invalid entry of a list, refine replaces this error with one that does.
func refine(object map[string]any, problems []Problem) []Problem {
	if kind, _ := object["kind"].(string); kind != v1alpha1.StorageBenchmarkKind {
		return problems
	}
	return refineReferences(object, refineTrigger(object, refineNames(object, problems)))
}

// refineNames replaces the fault about duplicate names in a list with one fault for each entry that has the same name
// as an earlier entry.
func refineNames(object map[string]any, problems []Problem) []Problem {
	var refined []Problem
	for _, problem := range problems {
		var twice []Problem
		if strings.HasPrefix(problem.Message, "names must differ") {
			twice = namedTwice(object, problem.Path)
		}
		if len(twice) == 0 {
			twice = []Problem{problem}
		}
		refined = append(refined, twice...)
	}
	return refined
}

// namedTwice returns a fault for each list entry that has the same name as an earlier entry.
func namedTwice(object map[string]any, path string) []Problem {
	names := namesIn(object, path)
	if len(names) > mostEntries {
		return nil
	}
	var twice []Problem
	list := path[strings.LastIndexByte(path, '.')+1:]
	for i, name := range names {
		if first := slices.Index(names, name); first < i {
			twice = append(twice, Problem{Path: fmt.Sprintf("%s[%d].name", path, i),
				Message: fmt.Sprintf("%s is also the name of %s[%d]; rename one", show(name), list, first)})
		}
	}
	return twice
}

// references lists the fields that refer by name to entries of another list.
var references = []struct {
	// field contains the name of an entry of another list, or several such names. from is the path of the list whose
	// entries have the field, and to is the path of the other list.
	from, field, to string
	// noun is the term for an entry of the other list in messages, such as phase. otherwise, if not empty, is the last
	// sentence of the message. It describes the behaviour if the field is not set.
	noun, otherwise string
	// The API has its own rule for the reference, but the rule's fault does not name the faulty entry. rulePath is the
	// path of that fault, and ruleText is the start of its message.
	rulePath, ruleText string
}{
	{from: "spec.objectives", field: "phase", to: "spec.run.phases", noun: "phase", rulePath: "spec", ruleText: "objectives: phase must be"},
	{from: "spec.objectives", field: "target", to: "spec.run.targets", noun: "target", otherwise: " If target is not set, each target is evaluated",
		rulePath: "spec", ruleText: "objectives: target must be"},
	{from: "spec.run.observations", field: "phases", to: "spec.run.phases", noun: "phase", rulePath: "spec.run.observations", ruleText: "creditsOf must be"},
	{from: "spec.run.observations", field: "creditsOf", to: "spec.run.targets", noun: "target", rulePath: "spec.run.observations", ruleText: "creditsOf must be"},
}

// refineReferences replaces the faults that the API's rules report for references with one fault for each reference to
// a nonexistent phase or target.
func refineReferences(object map[string]any, problems []Problem) []Problem {
	for _, reference := range references {
		var wrong []Problem
		names := namesIn(object, reference.to)
		list, _ := lookUp(object, reference.from)
		entries, _ := list.([]any)
		if len(names) == 0 || slices.Contains(names, "") || len(names) > mostEntries || len(entries) > mostEntries {
			continue // skip: a list has faults, which are reported elsewhere and may explain the wrong reference
		}
		check := func(path string, value any) {
			if name, is := value.(string); is && name != "" && !slices.Contains(names, name) {
				wrong = append(wrong, Problem{Path: path, Message: show(name) + ": no " + reference.noun + " has this name; " + nearest(name, names) + reference.otherwise})
			}
		}
		for i := range entries {
			path := fmt.Sprintf("%s[%d].%s", reference.from, i, reference.field)
			value, _ := lookUp(object, path)
			check(path, value)
			several, _ := value.([]any)
			for k, one := range several[:min(len(several), mostEntries)] {
				check(fmt.Sprintf("%s[%d]", path, k), one)
			}
		}
		problems = slices.DeleteFunc(problems, func(p Problem) bool {
			return len(wrong) > 0 && p.Path == reference.rulePath && strings.HasPrefix(p.Message, reference.ruleText)
		})
		problems = append(problems, wrong...)
	}
	return problems
}

// namesIn returns the names of the entries of a list.
func namesIn(object map[string]any, path string) []string {
	list, _ := lookUp(object, path)
	entries, _ := list.([]any)
	var names []string
	for i := range entries {
		name, _ := lookUp(object, fmt.Sprintf("%s[%d].name", path, i))
		text, _ := name.(string)
		names = append(names, text)
	}
	return names
}

// nearest suggests the name that is most similar to a mistyped one, or lists the names if there are few.
func nearest(name string, names []string) string {
	const few = 8
	if i := spelling.Nearest(name, names, min(4, len(name))); i >= 0 {
		return "did you mean " + names[i] + "?"
	}
	if len(names) <= few {
		return "use one of " + strings.Join(names, ", ")
	}
	return "correct it"
}

// mostEntries is the maximum length of lists whose entries are compared. The API's rules do not allow longer lists.
const mostEntries = 1000

const (
	schedulePath = "spec.trigger.schedule"
	timeZonePath = "spec.trigger.timeZone"
	// The API's limits on the length of a cron line and of a time zone. The API's rules reject longer ones.
	longestSchedule, longestTimeZone = 100, 64
)

// refineTrigger parses the cron line and the time zone as the operator does. If that fails, it replaces the problems of
// the field with the parser's error.
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

// replaced replaces all problems of a field with the fault in err. It returns problems unchanged if err does not
// contain a schedule.Error.
func replaced(problems []Problem, path, value string, err error) []Problem {
	var fault *schedule.Error
	if !errors.As(err, &fault) {
		return problems
	}
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Path == path })
	return append(problems, Problem{Path: path, Message: show(value) + ": " + fault.Message})
}
