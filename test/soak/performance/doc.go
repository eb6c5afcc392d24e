// Package performance measures what storagebench costs, each figure beside a control that is measured in turn with it:
// fio through an agent beside fio alone, and the work with results that has no control. `make bench` runs it with the
// tests of test/e2e that compare pods of a benchmark with bare ones, and writes docs/performance.md.
package performance
