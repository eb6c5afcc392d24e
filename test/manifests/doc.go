// Package manifests tests what config/default installs: the permissions of the operator, what it adds to the
// permissions of users, and that it runs under the strictest Pod Security level. Most tests read the rendered
// manifests; the others apply them to a real API server.
package manifests
