// Package operator makes the image of the operator: two static programs, certificates and licences, on top of
// nothing.
// The second program is the agent; client pods take it from this image with an init container, so that
// operator and agent are of one version whatever image the tool is in.
package operator
