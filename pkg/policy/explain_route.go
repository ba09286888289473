package policy

// explainRoute tells where the gateway sends the request, nil where it answers
// itself.
func (p *Policy) explainRoute(e *Explanation, r *Request) *Service {
	e.Reason = Unavailable.String()
	route := p.RouteFor(r.Path)
	if route == nil {
		e.step("404: no route leads to path %s", quote(string(r.Path)))
		return nil
	}
	e.Service = route.Service.Name
	e.step("route %s takes path %s: it is for service %s", route, quote(string(r.Path)), route.Service.Name)
	if route.Cors != nil && e.explainCors(route.Cors, r) {
		return nil
	}
	path, ok := route.Stripped(nil, r.Path)
	switch {
	case !ok:
		e.step("400: dot segments or slashes hide in what stripPrefix: %d takes off the path", route.Strip)
		return nil
	case route.Strip > 0:
		e.step("the service gets path %s (stripPrefix: %d); the rules see the path as it was sent", quote(string(path)), route.Strip)
	}
	return route.Service
}

// explainCors tells what a page of another origin may do, and whether that is all
// there is to answer.
func (e *Explanation) explainCors(c *Cors, r *Request) bool {
	page := Page{Authority: r.Host, Method: r.Method}
	if r.Headers != nil {
		page.Origin = r.Headers.Get("Origin")
		page.WantedMethod = r.Headers.Get("Access-Control-Request-Method")
		page.WantedHeaders = r.Headers.Get("Access-Control-Request-Headers")
	}
	origin := quote(string(page.Origin))
	switch permission := c.Permit(&page); {
	case !permission.Foreign:
		return false
	case !permission.Given:
		e.step("403: cors does not allow this to pages of %s", origin)
	case permission.Asks:
		e.Reason = Answered.String()
		e.step("200: the gateway answers the browser that cors allows this to pages of %s", origin)
	default:
		e.step("cors allows this to pages of %s", origin)
		return false
	}
	return true
}
