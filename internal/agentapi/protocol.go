// Package agentapi is the protocol between a conductor and its agents, and the code that is generated
// from it.
package agentapi

// Protocol counts incompatible changes of the service. Fields that either side may leave out are no
// such change. A conductor works with agents of the very same number only.
const Protocol = 1

// Domain of the reasons (errdetails.ErrorInfo) that travel beside an error's message.
const Domain = "storagebench.dev"

// ReasonSuperseded is the reason with which an agent refuses a leader whose epoch is over.
const ReasonSuperseded = "Superseded"

// ReasonLeaving is the reason of a step's end that an agent stopped since somebody else than its
// conductor told it to end: its node is drained, its pod deleted. Nobody asked for such an end, and the agent
// is gone soon after.
const ReasonLeaving = "AgentLeaving"

// ReasonClientLost is the reason of a step that ended since another client of its job was lost.
const ReasonClientLost = "ClientLost"

// ReasonStartMissed is the reason of a step that an agent did not begin: the order to start came so
// long after the instant of the start that the others had begun without it.
const ReasonStartMissed = "StartMissed"
