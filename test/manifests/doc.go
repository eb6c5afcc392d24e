// Package manifests tests what config/default installs: what the operator may do, what it adds to the
// rights of users, and that it runs under the strictest Pod Security. Most of it looks at the rendered
// manifests; the rest applies them to a real API server.
package manifests
