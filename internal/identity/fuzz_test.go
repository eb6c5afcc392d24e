package identity

import "testing"

// FuzzParsePeer checks that each peer has only one name that can be parsed.
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
