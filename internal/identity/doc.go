// Package identity issues the certificates with which the operator and the agents of a run verify each other, without
// an external certificate authority.
//
// All keys are Ed25519 keys that HKDF-SHA256 derives from one master key, so an operator that has lost its state needs
// only the master key and the run's UID to connect to the run's agents again:
//
//	master + run UID ── run CA ─┬─ operator             storagebench://run/<uid>/operator
//	                            ├─ client a/0           storagebench://run/<uid>/client/a/0
//	                            └─ client a/1           storagebench://run/<uid>/client/a/1
//
// Each run has its own CA, whose key never leaves the operator, so a certificate of one run is worthless in another.
// Peers are identified by the URI in their certificate, never by address: pods come and go, and their addresses are
// reused.
//
// The package does not read the clock. The same master key, run and validity always yield the same bytes.
package identity
