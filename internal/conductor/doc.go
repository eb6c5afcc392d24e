// Package conductor speaks with all agents of one run. It turns what they say into the facts that
// decide.Next decides on, and carries out the actions that concern them. It decides nothing.
//
// Commands are sent in the background and their answers show up in Clients, so that no caller
// waits for a slow agent. Each client has one connection and one Watch stream, which is opened
// again where it broke and goes on after the last record that was seen.
package conductor
