package admission

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// move records the wrong path at which a field was written, and the path to which the field was moved.
type move struct{ from, to string }

// mostMoves limits how often fields are moved and checked again. More than one round is needed because a misplaced
// object can contain a misnamed field.
const mostMoves = 3

// meaning is an object as the user probably meant it: misnamed and misplaced fields are moved to where the API
// expects them, and defaults are set.
type meaning struct {
	fields map[string]any
	moves  []move
	// problems are the faults in the object as written, and the faults in the values of moved fields.
	problems []Problem
}

// checkAsMeant checks an object. It then moves each unknown field to the place where it probably belongs, and checks
// the object again. In this way it reports an unknown field and the faults in the field's value at the same time.
func checkAsMeant(ctx context.Context, fields map[string]any) (meaning, error) {
	made := meaning{fields: fields}
	var moved []Problem
	for round := 0; ; round++ {
		next := runtime.DeepCopyJSON(made.fields)
		found, err := check(ctx, made.fields, true)
		if err != nil {
			return meaning{}, err
		}
		var moves []move
		var rest []Problem
		for _, problem := range found {
			if problem.move == "" || round == mostMoves || !moveField(next, problem.Path, problem.move) {
				rest = append(rest, problem)
				continue
			}
			problem.Meant = [2]string{} // the next round checks the field under its correct name
			moves = append(moves, move{from: problem.Path, to: problem.move})
			moved = append(moved, asWritten([]Problem{problem}, made.moves)...)
		}
		if len(moves) == 0 {
			made.problems = append(moved, asWritten(refine(made.fields, rest), made.moves)...)
			return made, nil
		}
		made.fields, made.moves = next, append(made.moves, moves...)
	}
}

// asWritten records the path in the user's file for each problem that concerns a moved field.
func asWritten(problems []Problem, moves []move) []Problem {
	for i := range problems {
		problem := &problems[i]
		path := problem.Path
		for _, moved := range slices.Backward(moves) {
			if rest, inside := strings.CutPrefix(path, moved.to); inside && (rest == "" || strings.ContainsAny(rest[:1], ".[")) {
				path = moved.from + rest
			}
		}
		if path != problem.Path {
			problem.written = path
		}
	}
	return problems
}

// moveField moves a field of an object. It changes nothing and returns false if the destination already exists, or if a
// parent of the destination is not an object.
func moveField(object map[string]any, from, to string) bool {
	value, found := lookUp(object, from)
	if !found || strings.HasPrefix(to, from+".") {
		return false
	}
	old, is := holder(object, from, false)
	if !is {
		return false
	}
	target, is := holder(object, to, true)
	name := lastName(to)
	if !is || target[name] != nil {
		return false
	}
	target[name] = value
	delete(old, lastName(from))
	return true
}

func lastName(path string) string {
	steps := parsePath(path)
	return steps[len(steps)-1].name
}

// holder returns the object that directly contains the field at a path. If create is true, it creates missing parents.
func holder(object map[string]any, path string, create bool) (map[string]any, bool) {
	var at any = object
	steps := parsePath(path)
	for _, step := range steps[:len(steps)-1] {
		switch inner := at.(type) {
		case map[string]any:
			if inner[step.name] == nil && create && !step.isIndex {
				inner[step.name] = map[string]any{}
			}
			at = inner[step.name]
		case []any:
			if !step.isIndex || step.index >= len(inner) {
				return nil, false
			}
			at = inner[step.index]
		}
	}
	fields, is := at.(map[string]any)
	return fields, is && !steps[len(steps)-1].isIndex
}
