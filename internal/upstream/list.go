package upstream

// Target is an endpoint as a policy or a source names it.
type Target struct {
	Address  string // host:port, or host alone, which keeps the port that the caller named
	Weight   int    // part of the version's requests, 0 or more
	Zone     string // "": none
	Protocol string // of the Protocol constants; "": that of the version
}

// list is the endpoints of a group as they were last named.
type list struct {
	members []member // those that may get requests
	idle    []member // weight 0 beside others: not one request
	ring    *ring    // of the members, for balance by hash; else nil
}

type member struct {
	*Endpoint
	weight int
	zone   string
	h2c    bool
}

func (m member) protocol() string {
	if m.h2c {
		return ProtocolH2C
	}
	return ProtocolHTTP1
}

// newList sorts the members into those that may get requests and those that may
// not: where all weights are 0, all are equal.
func newList(all []member) *list {
	l := &list{}
	for _, m := range all {
		if m.weight > 0 {
			l.members = append(l.members, m)
		} else {
			l.idle = append(l.idle, m)
		}
	}
	if len(l.members) > 0 {
		return l
	}
	l.members, l.idle = l.idle, nil
	for i := range l.members {
		l.members[i].weight = 1
	}
	return l
}

func (l *list) addRing() {
	addresses, weights := make([]string, len(l.members)), make([]int, len(l.members))
	for i, m := range l.members {
		addresses[i], weights[i] = m.Address, m.weight
	}
	l.ring = newRing(addresses, weights)
}
