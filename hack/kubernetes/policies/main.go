// Command policies enforces the NetworkPolicies of the pods of a node: it judges each packet that the kernel queues for
// it, by the library of kube-network-policies. The program of that project works in a pod only, and queues packets by
// nftables, which not every kernel can; who starts this one gives the kernel the rules.
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

// queue is the number of the kernel's queue of packets.
const queue = 100

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	node := flag.String("node", "", "node whose packets are judged")
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
	// Without the fix for DNS, which needs rules of nftables, and without the policies of administrators.
	controller, err := networkpolicy.NewController(client, factory.Networking().V1().NetworkPolicies(), factory.Core().V1().Namespaces(),
		factory.Core().V1().Pods(), nil, nil, nil, nil, networkpolicy.Config{NodeName: node, QueueID: queue})
	if err != nil {
		return fmt.Errorf("create the controller: %w", err)
	}
	factory.Start(ctx.Done())
	if err := controller.Run(ctx); err != nil {
		return fmt.Errorf("judge packets: %w", err)
	}
	return nil
}
