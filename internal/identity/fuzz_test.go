package identity

import "testing"

// A name that is read must be the only one that means the same.
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
