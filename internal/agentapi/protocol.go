// Package agentapi is the protocol between a conductor and its agents, with the code that is generated from it.
package agentapi

// Protocol is the version of the service, which counts incompatible changes. Optional fields are compatible changes.
// A conductor works only with agents of the same version.
const Protocol = 1

// Domain is the domain of the reasons (errdetails.ErrorInfo) that accompany an error's message.
const Domain = "storagebench.dev"

// ReasonSuperseded is the reason with which an agent refuses a leader whose epoch is over.
const ReasonSuperseded = "Superseded"

// ReasonLeaving is the reason of a step that an agent ended because something other than its conductor told the agent
// to leave: its node is drained, or its pod is deleted. The run did not ask for that end, and the agent is gone soon
// after.
const ReasonLeaving = "AgentLeaving"

// ReasonClientLost is the reason of a step that ended because another client of its job was lost.
const ReasonClientLost = "ClientLost"

// ReasonStartMissed is the reason of a step that an agent did not begin, because the order to start came so long
// after the start instant that the other clients had begun without it.
const ReasonStartMissed = "StartMissed"
