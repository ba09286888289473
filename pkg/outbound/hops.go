package outbound

import (
	"errors"

	"graylane/internal/http1"
	"graylane/internal/mark"
	"graylane/pkg/policy"
)

// maxHops is far above what passes from sidecar to sidecar without an app between,
// which is one or two.
const maxHops = 8

// hopTexts is what the header says after each hop.
var hopTexts = [maxHops][]byte{[]byte("1"), []byte("2"), []byte("3"), []byte("4"), []byte("5"), []byte("6"), []byte("7"), []byte("8")}

// loops ends a request that has passed too many sidecars, and counts this one on any
// other.
func (c *call) loops() bool {
	err := c.countHop()
	if err == nil {
		return false
	}
	c.Record.Reason = policy.Unavailable.String()
	c.Fail(err)
	return true
}

// countHop adds this sidecar to the count. The error ends a loop over several
// sidecars, each of which takes the next for the endpoint. What is no count of
// ours counts as none.
func (c *call) countHop() error {
	hops := 0
	if v := c.Head.Get(mark.HopsHeader); len(v) == 1 && v[0] >= '1' && v[0] <= '0'+maxHops {
		hops = int(v[0] - '0')
	}
	if hops == maxHops {
		return &http1.Error{Op: "send", Addr: string(c.going), Reason: http1.Loop, Err: errHops}
	}
	c.Head.Set(mark.HopsHeader, hopTexts[hops])
	return nil
}

var errHops = errors.New("it has passed 8 sidecars without reaching an app: do their policies point at each other?")
