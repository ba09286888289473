package admin

import (
	"log/slog"
	"net/http"
	"time"
)

// NewServer makes the server for what New or NewHealth returned; the caller calls
// Serve and Shutdown. Its limits are against slow clients: 5 s for a head of at
// most 16 KiB, 10 s for a request, 30 s for a reply (profiles get their own time on
// top), 90 s between two requests, so that a scraper keeps its connection. What
// net/http has to say about single connections goes to log as debug lines.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       90 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
