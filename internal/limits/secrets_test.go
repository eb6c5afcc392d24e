package limits

import (
	"slices"
	"testing"
)

// TestSecretsStayOut checks that what a run copies from volumes, classes and mounts contains no user names and no keys
// of shares.
func TestSecretsStayOut(t *testing.T) {
	given := []string{"vers=3.1.1", "username=joe,PASSWORD=a=b,sec=ntlmssp", "cred=/etc/cred", "passwd_file=/x", "secret=AQD", "user_id=0", "noatime"}
	want := []string{"vers=3.1.1", "username=...,PASSWORD=...,sec=ntlmssp", "cred=...", "passwd_file=...", "secret=...", "user_id=0", "noatime"}
	before := slices.Clone(given)
	if got := PlainOptions(given); !slices.Equal(got, want) || !slices.Equal(given, before) {
		t.Errorf("got %q", got)
	}
	if got := PlainOptions(nil); got != nil {
		t.Errorf("of none: %q", got)
	}
	parameters := PlainParameters(map[string]string{"type": "gp3", "csi.storage.k8s.io/node-stage-secret-name": "a", "adminPassword": "b", "accountKey": "c"})
	if len(parameters) != 1 || parameters["type"] != "gp3" {
		t.Errorf("parameters %v", parameters)
	}
}
