// Package standin replaces the kubelet in tests that have only an API server: it runs the client pods of runs as
// processes of this machine, with the real agent and real fio, on a directory instead of the volume.
//
// There are no images, no isolation and no scheduling; test/e2e tests these in a real cluster. In exchange, tests can
// disturb many runs in a short time.
package standin
