// Package identity gives the parts of a run certificates that they need no authority to check.
//
// Everything derives from one master key (HKDF-SHA256 to Ed25519), so an operator that lost its
// memory needs only the master and the run's UID to talk to the run's agents again:
//
//	master + run UID ── run CA ─┬─ operator             storagebench://run/<uid>/operator
//	                            ├─ client a/0           storagebench://run/<uid>/client/a/0
//	                            └─ client a/1           storagebench://run/<uid>/client/a/1
//
// Each run has a CA of its own, whose key never leaves the operator, so a certificate of one run
// is worth nothing in another. Peers are known by the URI in their certificate, never by address:
// pods come and go and their addresses are used again.
//
// The package reads no clock. The same master, run and validity give the same bytes.
package identity
