// Package browser opens reports in a real Chromium that has no network: in a network namespace of its own, with nothing in
// it but the loopback that the test speaks to it by. A request is counted, whether it would have got anywhere or not.
package browser
