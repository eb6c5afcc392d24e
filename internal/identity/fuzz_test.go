package identity

import "testing"

// FuzzParsePeer checks that a name that can be parsed is the only name of its peer.
func FuzzParsePeer(f *testing.F) {
	f.Add("storagebench://run/a/operator")
	f.Add("storagebench://run/a/client/b/0")
	f.Add("storagebench://run/a/client/b/00")
	f.Add("storagebench://run/storagebench://run/a/operator")
	f.Fuzz(func(t *testing.T, text string) {
		peer, err := parsePeer(text)
		if err != nil {
			return
		}
		if peer.String() != text || peer.validate() != nil {
			t.Errorf("%q was read as %+v", text, peer)
		}
	})
}
