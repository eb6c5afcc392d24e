// Package gates says of an object what those say who gate on it: kstatus, which Flux asks, by its library; Argo CD by
// its health scripts, run by the interpreter that it uses; and kubectl wait by kubectl itself.
package gates
