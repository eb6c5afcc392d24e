// Package chart tests the Helm chart with helm itself. The chart must install the same objects as config, every value
// must have an effect, and helm must refuse misspelled values.
package chart
