// Package scale measures the operator with thousands of agents, on one machine.
//
// Real are etcd and the API server, the operator, as a separate process, and the agents: their server, TLS, barrier,
// log and protocol (internal/agent). Simulated are the nodes, by kwok, and fio, by the model [fio], which reports one
// sample per second. All agents run in the test's process, each on the loopback address that kwok gives to its pod.
//
//	operator ==== gRPC over TLS ==== agent - fio (model)
//	    \                              /  one for each pod, on 127.x.y.z
//	     API server, etcd ---- kwok (nodes, pods)
//
// For each run, the operator's counters are compared with what the models have reported, before the run's agents may
// leave.
package scale
