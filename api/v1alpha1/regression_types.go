package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RegressionVerdict is the outcome of a comparison with earlier runs.
//
// +kubebuilder:validation:Enum=NoChange;Regressed;Improved;Unknown
type RegressionVerdict string

// The verdicts of a comparison.
const (
	// RegressionNoChange: no figure is worse.
	RegressionNoChange RegressionVerdict = "NoChange"
	// RegressionRegressed: a figure is worse, by more than chance and by more
	// than the tolerance.
	RegressionRegressed RegressionVerdict = "Regressed"
	// RegressionImproved: one is better, and none is worse.
	RegressionImproved RegressionVerdict = "Improved"
	// RegressionUnknown: too few earlier valid runs to say.
	RegressionUnknown RegressionVerdict = "Unknown"
)

// RegressionResult is a comparison with earlier runs.
type RegressionResult struct {
	// verdict of the comparison.
	// +required
	Verdict RegressionVerdict `json:"verdict"`

	// comparedRuns is how many earlier runs were compared with.
	// +optional
	ComparedRuns int32 `json:"comparedRuns,omitempty"`

	// message says which figure changed, by how much, how sure that is.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// figures that were judged.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Figures []FigureChange `json:"figures,omitempty"`

	// pooledRuns are the newest runs that were judged together, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=253
	PooledRuns []string `json:"pooledRuns,omitempty"`

	// suspicion is open: the newest runs are not among those that later ones
	// are compared with until it is decided.
	// +optional
	Suspicion bool `json:"suspicion,omitempty"`

	// changes of level over the history, the newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Changes []LevelChange `json:"changes,omitempty"`
}

// FigureChange is the comparison of one figure.
type FigureChange struct {
	// figure that is compared: of which phase, target and operation.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure"`

	// verdict on it.
	// +required
	Verdict RegressionVerdict `json:"verdict"`

	// baseline is the geometric mean of the earlier runs, in the figure's unit.
	// +optional
	Baseline int64 `json:"baseline,omitempty"`

	// newest is that of the newest runs.
	// +optional
	Newest int64 `json:"newest,omitempty"`

	// unit of both.
	// +optional
	Unit FigureUnit `json:"unit,omitempty"`

	// changePermille is by how much newest differs, in thousandths.
	// +optional
	ChangePermille int64 `json:"changePermille"`

	// lowerPermille is the lower end of its 95 % interval.
	// +optional
	LowerPermille int64 `json:"lowerPermille"`

	// upperPermille is the upper end of its 95 % interval.
	// +optional
	UpperPermille int64 `json:"upperPermille"`

	// spreadPermille is the standard deviation of the earlier runs.
	// +optional
	SpreadPermille int64 `json:"spreadPermille,omitempty"`

	// confidencePermille that there is a change of this direction.
	// +optional
	ConfidencePermille int64 `json:"confidencePermille,omitempty"`
}

// LevelChange is where a figure changed its level.
type LevelChange struct {
	// figure that changed.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure"`

	// run is the first of the new level.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Run string `json:"run"`

	// time at which it started.
	// +required
	Time metav1.Time `json:"time"`

	// before and after are the levels, in the figure's unit.
	// +optional
	Before int64 `json:"before,omitempty"`
	// +optional
	After int64 `json:"after,omitempty"`

	// changePermille is the change in thousandths.
	// +optional
	ChangePermille int64 `json:"changePermille"`

	// differences between that run and the one before: what was recorded of
	// the specification, driver, node type and kernel.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	Differences []string `json:"differences,omitempty"`
}

// FigureUnit is the unit of a figure.
//
// +kubebuilder:validation:Enum=BytesPerSecond;IOPSMilli;Nanoseconds;Bytes;Operations
type FigureUnit string

// The units.
const (
	UnitBytesPerSecond FigureUnit = "BytesPerSecond"
	UnitIOPSMilli      FigureUnit = "IOPSMilli"
	UnitNanoseconds    FigureUnit = "Nanoseconds"
	UnitBytes          FigureUnit = "Bytes"
	UnitOperations     FigureUnit = "Operations"
)

// RunFigure is a figure of a run that other runs are compared by.
type RunFigure struct {
	// figure says what it is, and of which phase, target and operation.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure"`

	// value in unit, above 0.
	// +required
	Value int64 `json:"value"`

	// unit of value.
	// +required
	Unit FigureUnit `json:"unit"`

	// lowerIsBetter holds for times.
	// +optional
	LowerIsBetter bool `json:"lowerIsBetter,omitempty"`

	// condition under which the figure was taken, such as how full a bucket
	// was: only figures of the same one are compared.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Condition string `json:"condition,omitempty"`
}

// RunFact is what may explain that a run differs from another one.
type RunFact struct {
	// name of the fact, such as kernel.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`

	// value of it.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Value string `json:"value"`
}

// Comparable is what a run is compared with others by.
type Comparable struct {
	// store is the same for runs on the same kind of storage.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Store string `json:"store,omitempty"`

	// figures that are judged, in the order of their importance.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Figures []RunFigure `json:"figures,omitempty"`

	// facts that may explain a change.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Facts []RunFact `json:"facts,omitempty"`
}

// ComparedHistory is the runs that later ones are compared with, of one hash
// of spec.run and one kind of storage.
type ComparedHistory struct {
	// hash of spec.run.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash"`

	// store is the same for runs on the same kind of storage.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Store string `json:"store,omitempty"`

	// figures by whose order runs give their values.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Figures []ComparedFigure `json:"figures,omitempty"`

	// runs, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=80
	Runs []ComparedRun `json:"runs,omitempty"`
}

// ComparedFigure is a figure of a history.
type ComparedFigure struct {
	// figure says what it is.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure"`

	// unit of its values.
	// +optional
	Unit FigureUnit `json:"unit,omitempty"`

	// lowerIsBetter holds for times.
	// +optional
	LowerIsBetter bool `json:"lowerIsBetter,omitempty"`

	// condition under which it was taken.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Condition string `json:"condition,omitempty"`
}

// ComparedRun is one run of a history.
type ComparedRun struct {
	// name of the run.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// time at which it started.
	// +required
	Time metav1.Time `json:"time"`

	// verdict that was given.
	// +optional
	Verdict RegressionVerdict `json:"verdict,omitempty"`

	// use that the run is of for later ones: Baseline, Pending (one of the
	// newest), Suspected, Regressed or None.
	// +optional
	// +kubebuilder:validation:Enum=Baseline;Pending;Suspected;Regressed;None
	Use string `json:"use,omitempty"`

	// acceptedSince of the policy by which it was.
	// +optional
	AcceptedSince *metav1.Time `json:"acceptedSince,omitempty"`

	// values of the history's figures; 0 where the run has none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Values []int64 `json:"values,omitempty"`

	// facts that are not those of the run before; an empty value is one that is
	// not known any more.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Facts []RunFact `json:"facts,omitempty"`
}
