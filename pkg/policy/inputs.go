package policy

// Inputs returns what the rules of p read of r, and nothing else: a record from
// which [Compare] can tell what another policy would have made of the request.
// It copies, so that it can be kept; it allocates.
func (p *Policy) Inputs(r *Request) *Sample {
	in := p.read(r)
	defer p.done(in)
	s := &Sample{Time: r.Now, Method: string(r.Method), Host: string(r.Host), Path: string(r.Path), Peer: r.Peer}
	for i := range p.sources {
		source := &p.sources[i]
		c := in.get(i)
		if !c.ok {
			continue
		}
		switch source.kind {
		case ofHeader:
			put(&s.Headers, source.name, string(c.value))
		case ofParam:
			put(&s.QueryParams, source.name, string(c.value))
		case ofCookie:
			put(&s.Cookies, source.name, string(c.value))
		case ofClaim:
			put(&s.Claims, source.name, c.claim())
		case ofTrace:
			s.TraceID = string(c.value)
		}
	}
	return s
}

// claim returns a claim as JSON would have it: text, or a list of texts.
func (c *cell) claim() any {
	if !c.list {
		return string(c.value)
	}
	texts := make([]string, len(c.more))
	for i, element := range c.more {
		texts[i] = string(element)
	}
	return texts
}

func put[V any](m *map[string]V, name string, value V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[name] = value
}
