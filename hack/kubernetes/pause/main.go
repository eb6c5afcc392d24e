// Command pause keeps the namespaces of a pod open, as the pause image of Kubernetes does. It exits when it receives
// SIGINT or SIGTERM. As process 1 of a shared process namespace, it reaps orphaned processes.
package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	// Use one thread, which is enough to reap processes and keeps the cost per pod low.
	runtime.GOMAXPROCS(1)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for {
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
		if received := <-signals; received != syscall.SIGCHLD {
			return
		}
	}
}
