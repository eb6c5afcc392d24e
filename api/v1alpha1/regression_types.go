package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RegressionVerdict is the outcome of a comparison with earlier runs.
//
// +kubebuilder:validation:Enum=NoChange;Regressed;Improved;Unknown
type RegressionVerdict string

// Values of RegressionVerdict.
const (
	// RegressionNoChange: no figure is better or worse.
	RegressionNoChange RegressionVerdict = "NoChange"
	// RegressionRegressed: a figure is worse by more than chance explains, and by at least the tolerance.
	RegressionRegressed RegressionVerdict = "Regressed"
	// RegressionImproved: a figure is better, and none is worse.
	RegressionImproved RegressionVerdict = "Improved"
	// RegressionUnknown: there are too few earlier valid runs to decide, or the run cannot be
	// compared.
	RegressionUnknown RegressionVerdict = "Unknown"
)

// RegressionResult is the result of a comparison with earlier runs.
type RegressionResult struct {
	// verdict is NoChange, Regressed, Improved or Unknown.
	// +required
	Verdict RegressionVerdict `json:"verdict"`

	// comparedRuns is the number of earlier runs in the comparison.
	// +optional
	ComparedRuns int32 `json:"comparedRuns,omitempty"`

	// message states which figure changed, by how much, and with what certainty.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// figures are the figures that were compared.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Figures []FigureChange `json:"figures,omitempty"`

	// pooledRuns are the newest runs that were evaluated together, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=253
	PooledRuns []string `json:"pooledRuns,omitempty"`

	// suspicion is true while it is undecided whether the newest runs show a change. Meanwhile, the baseline excludes
	// them.
	// +optional
	Suspicion bool `json:"suspicion,omitempty"`

	// changes lists the level changes in the history, newest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Changes []LevelChange `json:"changes,omitempty"`
}

// FigureChange is the comparison of one figure.
type FigureChange struct {
	// figure is the name of the figure, with its phase, target and operation.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure"`

	// verdict is the verdict on the figure.
	// +required
	Verdict RegressionVerdict `json:"verdict"`

	// baseline is the geometric mean over the earlier runs, in the figure's unit.
	// +optional
	Baseline int64 `json:"baseline,omitempty"`

	// newest is the geometric mean over the newest runs, in the figure's unit.
	// +optional
	Newest int64 `json:"newest,omitempty"`

	// unit is the unit of baseline and newest.
	// +optional
	Unit FigureUnit `json:"unit,omitempty"`

	// changePermille is newest minus baseline, in thousandths of baseline.
	// +optional
	ChangePermille int64 `json:"changePermille"`

	// lowerPermille is the lower end of the 95 % confidence interval of changePermille.
	// +optional
	LowerPermille int64 `json:"lowerPermille"`

	// upperPermille is the upper end of the 95 % confidence interval of changePermille.
	// +optional
	UpperPermille int64 `json:"upperPermille"`

	// spreadPermille is the standard deviation over the earlier runs, in thousandths of baseline.
	// +optional
	SpreadPermille int64 `json:"spreadPermille,omitempty"`

	// confidencePermille is the confidence that the figure changed in the direction of changePermille, in thousandths.
	// +optional
	ConfidencePermille int64 `json:"confidencePermille,omitempty"`
}

// LevelChange is a change in a figure's level.
type LevelChange struct {
	// figure is the figure that changed.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure"`

	// run is the first run at the new level.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Run string `json:"run"`

	// time is the start time of the first run at the new level.
	// +required
	Time metav1.Time `json:"time"`

	// before is the level before the change, in the figure's unit.
	// +optional
	Before int64 `json:"before,omitempty"`
	// after is the level after the change, in the figure's unit.
	// +optional
	After int64 `json:"after,omitempty"`

	// changePermille is after minus before, in thousandths of before.
	// +optional
	ChangePermille int64 `json:"changePermille"`

	// differences are the recorded differences between the first run at the new level and the run before it, for
	// example in the specification, driver, node type or kernel.
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

// Possible values of FigureUnit.
const (
	UnitBytesPerSecond FigureUnit = "BytesPerSecond"
	UnitIOPSMilli      FigureUnit = "IOPSMilli"
	UnitNanoseconds    FigureUnit = "Nanoseconds"
	UnitBytes          FigureUnit = "Bytes"
	UnitOperations     FigureUnit = "Operations"
)

// RunFigure is a figure of a run that is compared with other runs.
type RunFigure struct {
	// figure is the name of the figure, with its phase, target and operation.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure"`

	// value is the value in unit. It is above 0.
	// +required
	Value int64 `json:"value"`

	// unit is the unit of value.
	// +required
	Unit FigureUnit `json:"unit"`

	// lowerIsBetter is true if a lower value is better, as for latencies.
	// +optional
	LowerIsBetter bool `json:"lowerIsBetter,omitempty"`

	// condition is the condition under which the figure was measured, such as the fill level of a
	// bucket. Only figures with the same condition are compared.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Condition string `json:"condition,omitempty"`
}

// RunFact is a circumstance that may explain why a run differs from another one.
type RunFact struct {
	// name is the name of the circumstance, such as kernel.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`

	// value is the value of the circumstance.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Value string `json:"value"`
}

// Comparable holds the data needed to compare a run with others.
type Comparable struct {
	// store identifies the kind of storage. Runs on the same kind of storage have the same value.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Store string `json:"store,omitempty"`

	// figures are the figures to compare, the most important first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4
	Figures []RunFigure `json:"figures,omitempty"`

	// facts are the circumstances that may explain a change.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Facts []RunFact `json:"facts,omitempty"`
}

// ComparedHistory holds the runs that later runs are compared with. All have the same hash of
// spec.run and the same kind of storage.
type ComparedHistory struct {
	// hash is the hash of spec.run.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Hash string `json:"hash"`

	// store identifies the kind of storage.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Store string `json:"store,omitempty"`

	// figures are the figures of the history. The values of each run are in the same order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Figures []ComparedFigure `json:"figures,omitempty"`

	// runs are the runs of the history, oldest first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=80
	Runs []ComparedRun `json:"runs,omitempty"`
}

// ComparedFigure describes one figure of a ComparedHistory.
type ComparedFigure struct {
	// figure is the name of the figure, with its phase, target and operation.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Figure string `json:"figure"`

	// unit is the unit of the values.
	// +optional
	Unit FigureUnit `json:"unit,omitempty"`

	// lowerIsBetter is true if a lower value is better, as for latencies.
	// +optional
	LowerIsBetter bool `json:"lowerIsBetter,omitempty"`

	// condition is the condition under which the figure was measured.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Condition string `json:"condition,omitempty"`
}

// ComparedRun is one run of a history.
type ComparedRun struct {
	// name is the name of the run.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// time is the start time of the run.
	// +required
	Time metav1.Time `json:"time"`

	// verdict is the verdict on the run.
	// +optional
	Verdict RegressionVerdict `json:"verdict,omitempty"`

	// use is the role of the run in later comparisons: Baseline, Pending (one of the newest runs), Suspected, Regressed
	// or None.
	// +optional
	// +kubebuilder:validation:Enum=Baseline;Pending;Suspected;Regressed;None
	Use string `json:"use,omitempty"`

	// acceptedSince is the value that spec.regression.acceptedSince had when use was determined.
	// +optional
	AcceptedSince *metav1.Time `json:"acceptedSince,omitempty"`

	// values are the values of the history's figures in this run, in the same order. 0 means that the run has no such
	// figure.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Values []int64 `json:"values,omitempty"`

	// facts are the circumstances that differ from those of the previous run. An empty value means that the
	// circumstance is no longer known.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Facts []RunFact `json:"facts,omitempty"`
}
