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
