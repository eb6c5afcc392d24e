// Package sim carries whole runs out in virtual time: hours in a moment, and the same each time.
//
// Real are the plan, the loop (internal/drive), the conductor with gRPC and TLS, decide, record, watch, result, and the
// agents with their barrier, log, deadlines, orphan rule, and all that they do about MPI jobs and commands. Simulated
// are fio ([Fio]), the processes of MPI and of commands ([Machine]), the storage behind them ([Store], the model of
// test/burstfs), the network ([House] connects by memory), and time itself (testing/synctest).
//
//	operator: drive.Loop - conductor ==== gRPC in memory ==== agent - Fio ----- Store (model)
//	     \ stored facts                       House            |  \ - Machine -/
//	                                                         agents of the same MPI job
//
// An Operator may die at any action and go on from the facts that it had stored; a House may kill clients and cut
// their wires. What the store has let through by its own record is the truth that figures are held against.
package sim
