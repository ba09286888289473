package http1

// parsers is a second opinion.
type parsers struct{}

func (p *parsers) agree(r *Request, n int) error { return nil }

func (p *parsers) agreeReply(r *reply, n int, method []byte) error { return nil }
