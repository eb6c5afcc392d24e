// Package performance measures the overhead of storagebench. It runs fio through an agent and bare fio in turn as a
// control, and measures the processing of results, which has no control. `make bench` runs it together with the soak
// tests of test/e2e and test/browser in the part "performance", and writes docs/performance.md.
package performance
