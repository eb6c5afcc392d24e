// Command policies enforces NetworkPolicies for the pods of a node. The kernel queues packets for it, and the
// kube-network-policies library decides whether to accept or drop each packet. The kube-network-policies project's own
// program runs only in a pod and queues packets with nftables, which not every kernel supports. This program only reads
// the queue, so its caller must create the rules that queue packets.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

// queue is the number of the netfilter queue (NFQUEUE) from which packets are read.
const queue = 100

func main() {
	kubeconfig := flag.String("kubeconfig", "", "path of the kubeconfig for the API server")
	node := flag.String("node", "", "node whose packets are filtered")
	flag.Parse()
	if err := run(*kubeconfig, *node); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, node string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create a client: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	factory := informers.NewSharedInformerFactory(client, 0)
	// Two features of the library are disabled: policies that cluster administrators define for all namespaces, and a
	// workaround for DNS that needs nftables rules.
	controller, err := networkpolicy.NewController(client, factory.Networking().V1().NetworkPolicies(), factory.Core().V1().Namespaces(),
		factory.Core().V1().Pods(), nil, nil, nil, nil, networkpolicy.Config{NodeName: node, QueueID: queue})
	if err != nil {
		return fmt.Errorf("create the controller: %w", err)
	}
	factory.Start(ctx.Done())
	if err := controller.Run(ctx); err != nil {
		return fmt.Errorf("filter packets: %w", err)
	}
	return nil
}
