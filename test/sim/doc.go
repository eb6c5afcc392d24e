// Package sim executes whole runs in virtual time: simulated hours take moments, and all executions are identical.
//
// These parts are real: the plan, the loop (internal/drive), the conductor with gRPC and TLS, decide, record,
// earlystop, result, and the agents with their barrier, log, deadlines, orphan rule, and handling of MPI jobs and
// commands. These are simulated: fio ([Fio]), the processes of MPI and of commands ([Machine]), the storage ([Store],
// the model of test/burstfs), the network ([House] connects clients in memory), and time itself (testing/synctest).
//
//	operator: drive.Loop - conductor ==== gRPC in memory ==== agent - Fio ----- Store (model)
//	     \ stored facts                       House            |  \ - Machine -/
//	                                                         agents of the same MPI job
//
// An operator can die at any action, and its successor continues from the stored facts. A House can kill clients and
// cut their connections. Figures are compared with the store's own record.
package sim
