package ior

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Expect returns the Expectation for Final, given the profile and the parameters that were passed to Arguments. It
// returns an error if the profile is invalid.
func Expect(profile *v1alpha1.IORProfile, parameters Parameters, ranks int) (Expectation, error) {
	w, problems := readProfile(field.NewPath("ior"), profile)
	if len(problems) > 0 {
		return Expectation{}, fmt.Errorf("predict IOR's I/O: %w", problems.ToAggregate())
	}
	pace := w.pace(&parameters)
	expected := Expectation{Tasks: ranks, Repetitions: int(pace.repetitions)}
	if expected.Limited = pace.limit > 0; expected.Limited {
		expected.Repetitions = 0
	}
	if pace.writes {
		expected.Operations = append(expected.Operations, measure.Write)
	}
	if pace.reads {
		expected.Operations = append(expected.Operations, measure.Read)
	}
	return expected, nil
}

// ExpectMdtest returns the MdtestExpectation for FinalMdtest, given the profile and the number of ranks.
func ExpectMdtest(profile *v1alpha1.MdtestProfile, ranks int) (MdtestExpectation, error) {
	w, problems := readMdtest(field.NewPath("mdtest"), profile)
	if len(problems) > 0 {
		return MdtestExpectation{}, fmt.Errorf("predict mdtest's I/O: %w", problems.ToAggregate())
	}
	return MdtestExpectation{Iterations: int(w.iterations), Tasks: ranks}, nil
}
