package upstream

import (
	"net/http"
	"time"
)

// CheckKind is how an endpoint is asked whether it is well.
type CheckKind uint8

// The ways to ask.
const (
	CheckHTTP CheckKind = iota // GET a path
	CheckTCP                   // connect
	CheckGRPC                  // grpc.health.v1.Health/Check over cleartext HTTP/2
)

// Check is an active health check, on connections of its own. Endpoints without a
// port are not checked.
type Check struct {
	Kind           CheckKind
	Path           string      // HTTP: with its query
	Header         http.Header // HTTP: sent with it; gRPC: as metadata
	Expect         []int       // HTTP: the statuses of who is healthy
	Service        string      // gRPC: asked for; "": the server as a whole
	Interval       time.Duration
	Timeout        time.Duration
	HealthyAfter   int // successes in a row, 1 or more
	UnhealthyAfter int // failures in a row, 1 or more
}

// checked is what the checks of an endpoint have told. It is taken to be well
// until they have failed often enough: what becomes of requests tells sooner, and
// a version whose pods all start at once would else begin with nobody.
type checked struct {
	ill bool
	row int // checks in a row that say otherwise
}

func (c *checked) report(rules *Check, well bool) {
	if well != c.ill {
		c.row = 0
		return
	}
	c.row++
	needed := rules.UnhealthyAfter
	if c.ill {
		needed = rules.HealthyAfter
	}
	if c.row >= needed {
		c.ill, c.row = !c.ill, 0
	}
}
