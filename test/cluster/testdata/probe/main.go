// Command probe runs in a pod and prints what works there: the volume, name resolution, and the API server through its
// service address.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "echo" { // for exec
		fmt.Println("echo", os.Args[2:])
		return
	}
	check("volume", volume())
	check("service name", resolve("kubernetes.default.svc.cluster.local"))
	check("service name of the search list", resolve("kubernetes.default"))
	check("other name", unknown("www.example.com"))
	check("API server", apiServer())
	check("service of a pod", service(os.Getenv("SERVICE")))
	if len(os.Args) > 1 && os.Args[1] == "wait" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		go func() {
			check("server", http.ListenAndServe(":8080", http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(out, "hello from a pod")
			})))
		}()
		fmt.Println("waiting")
		<-ctx.Done()
	}
}

func check(what string, err error) {
	if err != nil {
		fmt.Printf("%s: %v\n", what, err)
		os.Exit(1)
	}
	fmt.Printf("%s: works\n", what)
}

// volume writes a file to each of the folders.
func volume() error {
	for _, folder := range filepath.SplitList(os.Getenv("DATA")) {
		file := filepath.Join(folder, cmp.Or(os.Getenv("FILE"), "written"))
		if err := os.WriteFile(file, []byte("by a pod"), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func resolve(name string) error {
	addresses, err := net.LookupHost(name)
	if err == nil && len(addresses) != 1 {
		err = fmt.Errorf("%s is %v", name, addresses)
	}
	return err
}

// service sends a request to another pod through the name of its service.
func service(url string) error {
	if url == "" {
		return nil
	}
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && string(text) != "hello from a pod" {
		err = fmt.Errorf("it says %q", text)
	}
	return err
}

// unknown checks that resolving a name outside of the cluster fails at once. If no DNS server answered, the resolver
// would ask again after five seconds.
func unknown(name string) error {
	begin := time.Now()
	addresses, err := net.LookupHost(name)
	if err == nil {
		return fmt.Errorf("%s is %v", name, addresses)
	}
	if took := time.Since(begin); took > 4*time.Second {
		return fmt.Errorf("%w after %v", err, took)
	}
	return nil
}

func apiServer() error {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	authority, err := os.ReadFile(account + "ca.crt")
	if os.IsNotExist(err) {
		return nil // this pod has no account
	}
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	response, err := client.Get("https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")) + "/version")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s", response.Status)
	}
	return nil
}
