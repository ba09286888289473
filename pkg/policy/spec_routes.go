package policy

// RouteSpec sends the requests of the gateway (--gateway) whose path begins so
// to a service.
type RouteSpec struct {
	Path        string    `yaml:"path" need:"yes" doc:"Beginning of the path, in whole segments: /crs takes /crs and /crs/1, not /crsx. The longest wins."`
	Service     string    `yaml:"service" need:"yes" doc:"Name of the service."`
	StripPrefix *int      `yaml:"stripPrefix" default:"0" doc:"How many segments are taken off the path: 1 makes /crs/1 /1."`
	Cors        *CorsSpec `yaml:"cors" doc:"What browsers may do from pages of other origins, answered by the gateway. Left out: the service answers."`
}

// CorsSpec is what pages of other origins may do (Fetch standard, section 3.2).
type CorsSpec struct {
	AllowOrigins     []string  `yaml:"allowOrigins" need:"yes" doc:"Origins such as https://shop.example, or * for any."`
	AllowMethods     []string  `yaml:"allowMethods" default:"[GET, HEAD, POST]" doc:"Methods, or * for any."`
	AllowHeaders     []string  `yaml:"allowHeaders" default:"[]" doc:"Headers that a request may have beside the usual ones, or * for any."`
	AllowCredentials bool      `yaml:"allowCredentials" default:"false" doc:"Cookies and Authorization may be sent. Not with * as an origin."`
	MaxAge           *Duration `yaml:"maxAge" doc:"How long a browser may remember this. Left out: as long as it likes."`
}
