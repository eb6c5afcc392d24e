package identity

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

const testRun = "7b0e5f3c-1c64-4a61-bb0e-6f0c7a2b9d10"

func testMaster(t *testing.T, fill byte) Master {
	t.Helper()
	master := Master{set: true}
	for i := range master.key {
		master.key[i] = fill + byte(i)
	}
	parsed, err := ParseMaster(master.Text())
	if err != nil || parsed != master {
		t.Fatalf("a master does not survive its text form: %v", err)
	}
	return parsed
}

func testAuthority(t *testing.T, fill byte, run string, created time.Time) *Authority {
	t.Helper()
	authority, err := ForRun(testMaster(t, fill), run, ValidityOf(created, 48*time.Hour, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

// bundle fails the test on an error, so that a table can create an identity in one line.
func bundle(t *testing.T, made Bundle, err error) Bundle {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func operatorOf(t *testing.T, authority *Authority) Bundle {
	t.Helper()
	made, err := authority.Operator()
	return bundle(t, made, err)
}

func clientOf(t *testing.T, authority *Authority, target string, index int) Bundle {
	t.Helper()
	made, err := authority.Client(target, index)
	return bundle(t, made, err)
}

// meeting is the result of a handshake at both ends, and the peer that the server identified.
type meeting struct {
	atServer, atClient error
	peer               Peer
}

// meet connects client to server over TCP and transfers one byte: in TLS 1.3, a client learns only when it reads that
// the server refused it.
func meet(t *testing.T, server, client *tls.Config) meeting {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	served := make(chan meeting, 1)
	go func() { served <- serve(listener) }()
	dialer := &net.Dialer{Timeout: time.Minute}
	connection, err := tls.DialWithDialer(dialer, "tcp", listener.Addr().String(), client)
	if err == nil {
		_ = connection.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = io.ReadFull(connection, make([]byte, 1))
		_ = connection.Close()
	}
	met := <-served
	met.atClient = err
	return met
}

func serve(listener net.Listener) meeting {
	connection, err := listener.Accept()
	if err != nil {
		return meeting{atServer: err}
	}
	defer func() { _ = connection.Close() }()
	secure, ok := connection.(*tls.Conn)
	if !ok {
		return meeting{atServer: fmt.Errorf("%T is not a TLS connection", connection)}
	}
	if err := secure.Handshake(); err != nil {
		return meeting{atServer: err}
	}
	peer, err := PeerRole(secure.ConnectionState())
	if err == nil {
		_, err = secure.Write([]byte("!"))
	}
	return meeting{atServer: err, peer: peer}
}

func TestHandshake(t *testing.T) {
	now := time.Now()
	run := testAuthority(t, 1, testRun, now)
	otherRun := testAuthority(t, 1, "another-run", now)
	otherMaster := testAuthority(t, 2, testRun, now)
	expired := testAuthority(t, 1, testRun, now.Add(-49*time.Hour-Margin-time.Minute))
	future := testAuthority(t, 1, testRun, now.Add(Margin+time.Minute))

	operator, agent := operatorOf(t, run), clientOf(t, run, "share", 3)
	toAgent := ClientOf(testRun, "share", 3)
	accept := []Peer{OperatorOf(testRun), ClientOf(testRun, "share", 0)}
	tests := map[string]struct {
		server, client Bundle
		expect         Peer
		fine           bool
		// gullible clients trust the agent's CA although they belong to another run, so the agent must refuse them.
		gullible bool
		reason   string
	}{
		"operator":          {server: agent, client: operator, expect: toAgent, fine: true},
		"client 0 launches": {server: agent, client: clientOf(t, run, "share", 0), expect: toAgent, fine: true},

		"another client calls":             {server: agent, client: clientOf(t, run, "share", 1), expect: toAgent, reason: "wrong peer"},
		"client 0 of another target calls": {server: agent, client: clientOf(t, run, "other", 0), expect: toAgent, reason: "wrong peer"},
		"operator of another run":          {server: agent, client: operatorOf(t, otherRun), gullible: true, expect: toAgent},
		"operator of another installation": {server: agent, client: operatorOf(t, otherMaster), gullible: true, expect: toAgent},
		"operator's certificate ended":     {server: agent, client: operatorOf(t, expired), gullible: true, expect: toAgent, reason: "expired"},
		"operator's begins later":          {server: agent, client: operatorOf(t, future), gullible: true, expect: toAgent, reason: "expired"},

		"another client answers":        {server: clientOf(t, run, "share", 2), client: operator, expect: toAgent, reason: "wrong peer"},
		"another target answers":        {server: clientOf(t, run, "other", 3), client: operator, expect: toAgent, reason: "wrong peer"},
		"an agent of another run":       {server: clientOf(t, otherRun, "share", 3), client: operator, expect: toAgent},
		"an agent of another master":    {server: clientOf(t, otherMaster, "share", 3), client: operator, expect: toAgent},
		"agent's certificate ended":     {server: clientOf(t, expired, "share", 3), client: operator, expect: toAgent, reason: "expired"},
		"operator's certificate serves": {server: operator, client: operator, expect: toAgent},
		// A leaf certificate must not sign: a client that signs an operator's certificate for itself is refused.
		"a client plays CA": {server: agent, client: forged(t, clientOf(t, run, "share", 1)), expect: toAgent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server, err := test.server.ServerTLS(accept...)
			if err != nil {
				t.Fatal(err)
			}
			client, err := test.client.ClientTLS(test.expect)
			if err != nil {
				t.Fatal(err)
			}
			if test.gullible {
				client.RootCAs = pool(t, test.server.CAPEM)
			}
			met := meet(t, server, client)
			if test.fine {
				if want, _ := test.client.Peer(); met != (meeting{peer: want}) {
					t.Fatalf("got %+v, want %s", met, want)
				}
				return
			}
			if met.atServer == nil || met.atClient == nil {
				t.Fatalf("accepted: %+v", met)
			}
			if both := met.atServer.Error() + met.atClient.Error(); !strings.Contains(both, test.reason) {
				t.Errorf("got %+v, want %q", met, test.reason)
			}
		})
	}
}

func TestHandshakeWithoutCertificate(t *testing.T) {
	run := testAuthority(t, 1, testRun, time.Now())
	agent := clientOf(t, run, "share", 0)
	server, err := agent.ServerTLS(OperatorOf(testRun))
	if err != nil {
		t.Fatal(err)
	}
	bare := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool(t, agent.CAPEM), ServerName: agentName}
	if met := meet(t, server, bare); met.atServer == nil || met.atClient == nil {
		t.Errorf("no certificate: %+v", met)
	}
	client, err := operatorOf(t, run).ClientTLS(ClientOf(testRun, "share", 0))
	if err != nil {
		t.Fatal(err)
	}
	client.MinVersion, client.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if met := meet(t, server, client); met.atServer == nil {
		t.Error("TLS 1.2 was accepted")
	}
}

// forged returns an operator's certificate that a client signed with its own key.
func forged(t *testing.T, thief Bundle) Bundle {
	t.Helper()
	run := testAuthority(t, 1, testRun, time.Now())
	pair, err := tls.X509KeyPair([]byte(thief.CertificatePEM), []byte(thief.KeyPEM))
	if err != nil {
		t.Fatal(err)
	}
	derived, err := run.derive(OperatorOf(testRun).String())
	if err != nil {
		t.Fatal(err)
	}
	template := run.template("forged", derived)
	template.URIs = append(template.URIs, OperatorOf(testRun).uri())
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(nil, template, pair.Leaf, derived.key.Public(), pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(derived.key)
	if err != nil {
		t.Fatal(err)
	}
	return Bundle{
		CAPEM:          thief.CAPEM,
		CertificatePEM: encode("CERTIFICATE", der) + thief.CertificatePEM,
		KeyPEM:         encode("PRIVATE KEY", key),
	}
}

func pool(t *testing.T, text string) *x509.CertPool {
	t.Helper()
	certificates := x509.NewCertPool()
	if !certificates.AppendCertsFromPEM([]byte(text)) {
		t.Fatal("no certificate")
	}
	return certificates
}

// TestDeterminism checks that an operator that resumes a run derives the same bytes, even if the run's creation time
// has fractions of a second or another time zone.
func TestDeterminism(t *testing.T) {
	created := time.Date(2026, 11, 21, 10, 6, 7, 0, time.UTC)
	first := testAuthority(t, 1, testRun, created)
	again := testAuthority(t, 1, testRun, created.Add(999*time.Millisecond).In(time.FixedZone("somewhere", 3600)))
	if operatorOf(t, first) != operatorOf(t, again) || clientOf(t, first, "a", 1) != clientOf(t, again, "a", 1) {
		t.Error("the same run gives other bytes")
	}
	seen := map[string]string{}
	for name, b := range map[string]Bundle{
		"operator": operatorOf(t, first), "a/1": clientOf(t, first, "a", 1), "a/2": clientOf(t, first, "a", 2),
		"b/1": clientOf(t, first, "b", 1), "a1/1": clientOf(t, first, "a1", 1), "a/11": clientOf(t, first, "a", 11),
		"other run":    operatorOf(t, testAuthority(t, 1, testRun+"0", created)),
		"other master": operatorOf(t, testAuthority(t, 2, testRun, created)),
	} {
		if other, ok := seen[b.KeyPEM]; ok {
			t.Errorf("%s and %s have one key", name, other)
		}
		seen[b.KeyPEM] = name
	}
	later := testAuthority(t, 1, testRun, created.Add(time.Second))
	if operatorOf(t, later).KeyPEM != operatorOf(t, first).KeyPEM {
		t.Error("the key depends on the validity")
	}
}

// TestDerivationIsFrozen pins a derived key. If a new version derived different keys, it could not talk to the agents
// of runs that an older version started. Change this digest only together with the version in the derivation.
func TestDerivationIsFrozen(t *testing.T) {
	run := testAuthority(t, 1, testRun, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
	derived, err := run.derive(ClientOf(testRun, "share", 3).String())
	if err != nil {
		t.Fatal(err)
	}
	const want = "cfc29a7a4771150d2eb145b9212f9021e21096bebfe2d182abe0f6edf709c3f0"
	if got := fmt.Sprintf("%x", derived.key.Seed()); got != want {
		t.Errorf("seed %s, want %s", got, want)
	}
}

func TestCertificateContents(t *testing.T) {
	created := time.Date(2026, 11, 21, 10, 6, 7, 0, time.UTC)
	run := testAuthority(t, 1, testRun, created)
	block, _ := pem.Decode([]byte(clientOf(t, run, "share", 3).CertificatePEM))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if want := created.Add(-7 * 24 * time.Hour); !leaf.NotBefore.Equal(want) {
		t.Errorf("begins %s, want %s", leaf.NotBefore, want)
	}
	if want := created.Add((48 + 1 + 7*24) * time.Hour); !leaf.NotAfter.Equal(want) {
		t.Errorf("ends %s, want %s", leaf.NotAfter, want)
	}
	if got, want := leaf.URIs[0].String(), "storagebench://run/"+testRun+"/client/share/3"; got != want {
		t.Errorf("URI %s, want %s", got, want)
	}
	if leaf.IsCA || len(leaf.IPAddresses) != 0 {
		t.Errorf("a leaf that is a CA (%t) or names addresses (%v)", leaf.IsCA, leaf.IPAddresses)
	}
}

func TestPeerNames(t *testing.T) {
	for _, peer := range []Peer{OperatorOf("a"), ClientOf("A-1", "t.x_y", 0), ClientOf("a", "b", 4095)} {
		if got, err := parsePeer(peer.String()); err != nil || got != peer {
			t.Errorf("%s: %+v, %v", peer, got, err)
		}
	}
	for _, text := range []string{
		"", "storagebench://run/", "storagebench://run/a/client", "storagebench://run/a/root", "storagebench://run/a/client/b/-1",
		"storagebench://run/a/client/b/01", "storagebench://run/a/client/b/+1", "storagebench://run/a/client//0",
		"storagebench://run/a/operator/b/0", "storagebench://run/a/operator/", "storagebench://run/a%2Foperator", "a/operator",
		"storagebench://RUN/a/operator", "storagebench://run/a/operator?x", "storagebench://run/a b/operator",
		"storagebench://run/a/client/b/99999999999999999999",
	} {
		if peer, err := parsePeer(text); err == nil {
			t.Errorf("%q was read as %+v", text, peer)
		}
	}
}

func TestRefusedInput(t *testing.T) {
	validity := ValidityOf(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), time.Hour, time.Hour)
	master := testMaster(t, 1)
	if _, err := ForRun(Master{}, testRun, validity); err == nil {
		t.Error("an empty master was accepted")
	}
	if _, err := ForRun(master, testRun, Validity{NotBefore: validity.NotAfter, NotAfter: validity.NotBefore}); err == nil {
		t.Error("a validity that ends before it begins was accepted")
	}
	for _, uid := range []string{"", "a/b", "..", strings.Repeat("a", 64), "a b", "ü"} {
		if _, err := ForRun(master, uid, validity); err == nil {
			t.Errorf("run UID %q was accepted", uid)
		}
	}
	run, err := ForRun(master, testRun, validity)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Client("a/b", 0); err == nil {
		t.Error("a target with a slash was accepted")
	}
	if _, err := run.Client("a", -1); err == nil {
		t.Error("a negative index was accepted")
	}
	if _, err := clientOf(t, run, "a", 0).ServerTLS(); err == nil {
		t.Error("a server without accepted peers was created")
	}
	if _, err := (Bundle{}).ClientTLS(ClientOf(testRun, "a", 0)); err == nil {
		t.Error("an empty bundle was accepted")
	}
	for _, text := range []string{"", "!", "AAAA", master.Text() + "AAAA"} {
		if _, err := ParseMaster(text); err == nil || (text != "" && strings.Contains(err.Error(), text)) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := PeerRole(tls.ConnectionState{}); !errors.Is(err, ErrWrongPeer) {
		t.Errorf("a connection without certificates: %v", err)
	}
}

func TestKeysAreNotPrinted(t *testing.T) {
	master, err := NewMaster()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := NewMaster(); err != nil || other == master {
		t.Fatalf("two new masters are equal, or %v", err)
	}
	run, err := ForRun(master, testRun, ValidityOf(time.Now(), time.Hour, time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	operator := operatorOf(t, run)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		text := fmt.Sprintf(verb+verb, master, operator)
		if strings.Contains(text, "PRIVATE") || strings.Contains(text, master.Text()) || !strings.Contains(text, "hidden") {
			t.Errorf("%s prints %s", verb, text)
		}
	}
	// The JSON must be complete, because an agent receives its bundle as JSON.
	text, err := json.Marshal(operator)
	var back Bundle
	if err != nil || json.Unmarshal(text, &back) != nil || back != operator || !bytes.Contains(text, []byte(`"key"`)) {
		t.Errorf("a bundle does not survive JSON: %v", err)
	}
}
