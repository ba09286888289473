package admin

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"graylane/internal/upstream"
)

func (o *Options) endpoints() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		shown := endpointPage{o.Table.Status(), o.Table.Stale()}
		switch format := wantedFormat(r); format {
		case "table":
			answer(w, http.StatusOK, shown.table(o.Now()))
		case "json":
			writeJSON(w, shown)
		default:
			answer(w, http.StatusBadRequest, fmt.Sprintf("format: got %q, want table or json", format))
		}
	}
}

// wantedFormat is the format that a request asks for by name, or by what it accepts.
// People who use curl or a browser accept anything, and get a table.
func wantedFormat(r *http.Request) string {
	if format := r.URL.Query().Get("format"); format != "" {
		return format
	}
	if strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "application/json") {
		return "json"
	}
	return "table"
}

// endpointPage is what /endpoints shows.
type endpointPage struct {
	Endpoints []upstream.Status `json:"endpoints"`
	Stale     []upstream.Source `json:"stale"` // versions whose endpoints are as they last were
}

func (p *endpointPage) table(now time.Time) string {
	lines := []string{"SERVICE\tTAG\tADDRESS\tPROTOCOL\tZONE\tWEIGHT\tSTATE\tSINCE\tIN FLIGHT\tLATENCY\tREQUESTS\tFAILURES\tWHY"}
	for _, s := range p.Endpoints {
		latency := "-"
		if s.LatencyMS > 0 {
			latency = fmt.Sprintf("%.1f ms", s.LatencyMS)
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%d\t%s\t%v\t%d\t%s\t%d\t%d\t%s",
			s.Service, s.Tag, s.Address, s.Protocol, cmp.Or(s.Zone, "-"), s.Weight, s.State, now.Sub(s.Since).Round(time.Second),
			s.InFlight, latency, s.Requests, s.Failures, cmp.Or(s.Why, "-")))
	}
	text := aligned(lines)
	for _, s := range p.Stale {
		text += fmt.Sprintf("\n%s %s is as it was %v ago: %s\n", s.Service, s.Tag, now.Sub(s.Since).Round(time.Second), s.Error)
	}
	return text
}
