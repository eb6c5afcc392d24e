package phasekind

import "github.com/storagebench/storagebench/api/v1alpha1"

// prepare lays out data. Its only figure is the compression ratio that the store reports for the data.
var prepare = Kind{
	Label:   "lay out",
	LaysOut: true,
	figures: func(*v1alpha1.TargetResult) []Figure { return nil },
}
