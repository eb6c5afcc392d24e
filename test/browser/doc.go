// Package browser tests reports in a real Chromium without network access. The tests run in their own network
// namespace, whose loopback interface only connects them to Chromium. They count requests even if those cannot leave
// the namespace.
package browser
