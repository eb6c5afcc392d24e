package phasekind

import "github.com/storagebench/storagebench/api/v1alpha1"

// prepare lays out data: only how much the store compresses it is a figure.
var prepare = Kind{
	Label:   "lay out",
	LaysOut: true,
	figures: func(*v1alpha1.TargetResult) []Figure { return nil },
}
