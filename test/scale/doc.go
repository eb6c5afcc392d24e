// Package scale measures the operator with thousands of agents, on one machine.
//
// etcd, the API server, the operator (a separate process) and the agents, with their server, TLS, barrier, log and
// protocol (internal/agent), are real. kwok simulates the nodes, and the model [fio] simulates fio: it reports one
// sample per second. All agents run in the test's process, each on the loopback address that kwok gives to its pod.
//
//	operator ==== gRPC over TLS ==== agent - fio (model)
//	    \                              /  one for each pod, on 127.x.y.z
//	     API server, etcd ---- kwok (nodes, pods)
//
// For each run, before its agents may end, the operator's counters are compared with what the models have reported.
package scale
