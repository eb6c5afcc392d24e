// Package conductor communicates with all agents of one run. It turns their reports into the client states
// that decide.Next needs, and carries out the actions that concern agents. It makes no decisions.
//
// Commands are sent in the background and their effects appear in Clients, so that no caller waits for a slow agent.
// Each client has one connection and one Watch stream. If the stream breaks, it is opened again and continues after the
// last record that was read.
package conductor
