// Package scale measures the operator beside thousands of agents, on one machine.
//
// Real are etcd and the API server, the operator as a process of its own, and the agents: their server, TLS, barrier,
// log and protocol (internal/agent). Simulated are the nodes, which kwok plays, and fio, of which [fio] is a model with
// a sample a second. All agents live in the test's process, each on the loopback address that kwok gives its pod.
//
//	operator ==== gRPC over TLS ==== agent - fio (model)
//	    \                              /  one for each pod, on 127.x.y.z
//	     API server, etcd ---- kwok (nodes, pods)
//
// What the models have reported is the truth that the operator's counters are held against, run by run, before the
// agents of the run may leave.
package scale
