// Package operator builds the image of the operator: two static programs, certificates and licences, without a base
// image. The second program is the agent. An init container copies it from this image into client pods, so that
// operator and agent have the same version, no matter which image contains the tool.
package operator
