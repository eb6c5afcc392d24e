// Package agentapi is the protocol between a conductor and its agents, with the code that is generated from it.
package agentapi

// Protocol is the version of the service. It increases with each incompatible change; adding an optional field is a
// compatible change. A conductor works only with agents of the same version.
const Protocol = 1

// Domain is the domain of the reasons (errdetails.ErrorInfo) that accompany an error's message.
const Domain = "storagebench.dev"

// ReasonSuperseded is the reason for refusing a leader after a leader with a higher epoch has taken over.
const ReasonSuperseded = "Superseded"

// ReasonLeaving is the reason why a step ended early if something other than the conductor told the agent to exit: for
// example, its node is drained or its pod is deleted. The run did not request the end of the step, and the agent exits
// soon after.
const ReasonLeaving = "AgentLeaving"

// ReasonClientLost is the reason why a step ended early if another client of the same MPI job was lost.
const ReasonClientLost = "ClientLost"

// ReasonStartMissed is the reason why an agent did not start a step if the start order arrived too late: the other
// clients had already started without it.
const ReasonStartMissed = "StartMissed"
