// Package standin stands in for the kubelet where there is only an API server: it runs the client pods
// of runs as processes of this machine, with the real agent and the real fio, on a directory in place
// of the volume.
//
// It is a simulation: no images, no isolation, no scheduling. What depends on those is tested on a
// real cluster (test/e2e); here runs can be disturbed many times in a short time.
package standin
