// Package agentapi defines the protocol between a conductor and its agents, and contains the code generated from it.
package agentapi

// Protocol is the version of the Agent service in agent.proto. It increases with each incompatible change; adding an
// optional field is a compatible change. A conductor works only with agents of the same protocol version.
const Protocol = 1

// Domain is the domain of the reasons (errdetails.ErrorInfo) that accompany an error's message.
const Domain = "storagebench.dev"

// ReasonSuperseded means that an agent rejected the command of an operator because an operator with a higher epoch has
// taken over the run.
const ReasonSuperseded = "Superseded"

// ReasonLeaving means that a step ended early because something other than the conductor told the agent to exit: for
// example, its node is drained or its pod is deleted. The run did not request the end of the step, and the agent exits
// soon after.
const ReasonLeaving = "AgentLeaving"

// ReasonClientLost means that a step ended early because another client of the same MPI job was lost.
const ReasonClientLost = "ClientLost"

// ReasonStartMissed means that an agent did not start a step because the start order arrived too late: the other
// clients had already started without it.
const ReasonStartMissed = "StartMissed"
