package admin

import (
	"fmt"
	"net/http"
	"strings"

	"graylane/internal/upstream"
)

func (o *Options) endpoints() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		list := o.Table.Status()
		if wantsTable(r) {
			answer(w, http.StatusOK, endpointTable(list))
			return
		}
		writeJSON(w, struct {
			Endpoints []upstream.Status `json:"endpoints"`
		}{list})
	}
}

func wantsTable(r *http.Request) bool {
	return r.FormValue("format") == "table" || strings.HasPrefix(r.Header.Get("Accept"), "text/plain")
}

func endpointTable(list []upstream.Status) string {
	lines := []string{"SERVICE\tTAG\tADDRESS\tIN FLIGHT\tREQUESTS\tFAILURES"}
	for _, s := range list {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%d",
			s.Service, s.Tag, s.Address, s.InFlight, s.Requests, s.Failures))
	}
	return aligned(lines)
}
