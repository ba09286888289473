// Package peers holds what Graylane reads and writes against what OpenTelemetry does. It is a module of
// its own, so that the sidecar does not depend on OpenTelemetry.
package peers
