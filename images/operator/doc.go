// Package operator builds the image of the operator: two static programs, certificates and licences, without a base
// image. The second program is the agent: client pods copy it from this image with an init container, so that operator
// and agent have the same version whatever image the tool is in.
package operator
