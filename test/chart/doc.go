// Package chart checks the Helm chart with helm itself: what it makes is what config makes, of every value something
// comes, and what is misspelled is refused.
package chart
