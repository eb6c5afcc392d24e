// Package gates evaluates an object as the tools that gate on it do: kstatus, which Flux uses, through its library;
// Argo CD through its health scripts and the interpreter that it uses; and kubectl wait through kubectl itself.
package gates
