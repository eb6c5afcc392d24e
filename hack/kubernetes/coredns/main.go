// Command coredns is CoreDNS with the few plugins that a test cluster needs. The standard build includes clients for
// several clouds, which take minutes to compile.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// Directives sets the order in which the plugins process a query.
	dnsserver.Directives = []string{"bind", "ready", "errors", "cache", "template", "kubernetes"}
	coremain.Run()
}
