package main

import (
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"graylane/pkg/policy"
	"graylane/pkg/propagate"
)

// settings is what `run` was told, checked. flagTable has the defaults.
type settings struct {
	Policy string // path of the policy file
	State  string // folder of the last good policy, "" for none

	Inbound, Outbound, Admin, Health []string // addresses to bind, host:port
	Gateway                          []string // the same; nil for none
	App                              string   // host:port

	Service string // "" for none
	Tag     string
	Zone    string   // "" for none
	DNS     []string // host:port; nil for those of the machine
	Edge    bool

	TraceHeaders []string
	TraceMake    []string // may hold auto
	TraceSampled bool

	LedgerTTL  time.Duration // above 0
	LedgerSize int           // 1 or more

	Grace, Drain time.Duration // 0 or more

	MaxHead        int           // bytes
	MaxBody        int64         // bytes, 0 for no limit
	MaxConnections int           // of each side; 0: not said, which is usualConnections
	HeadTimeout    time.Duration // above 0

	OpaquePorts []uint16
	TCPIdle     time.Duration // 0 for no limit

	LogLevel  slog.Level
	LogFormat string // "text" or "json"
	AccessLog bool
	LogInputs bool

	Warnings []string // for the log, once there is one
}

// maxLedgerSize keeps a slip of the finger from taking the pod's memory: a trace
// is about a hundred bytes.
const maxLedgerSize = 10_000_000

const (
	minHead        = 1 << 10   // a browser's head has more than half of it
	maxHead        = 16 << 20  // a head is kept in memory whole
	maxConnections = 1_000_000 // beyond what one process can have open

	usualConnections = 20_000
)

// maxTime is above any grace, drain or memory that makes sense, and far from overflow.
const maxTime = 24 * time.Hour

// loadSettings reads what addFlags has added, and the environment and the file
// where no flag was given. The error is a usageError with every fault.
func loadSettings(fs *pflag.FlagSet) (*settings, error) {
	src, err := openSources(fs)
	if err != nil {
		return nil, err
	}
	s := &settings{
		Policy:         src.text("policy"),
		State:          src.text("state"),
		Inbound:        src.addresses("inbound", anyHost()),
		Outbound:       src.addresses("outbound", loopbackHost("outbound", "an open proxy")),
		Gateway:        src.optional("gateway", anyHost()),
		Admin:          src.addresses("admin", loopbackHost("admin", "open to everyone")),
		Health:         src.addresses("health", anyHost()),
		App:            src.peer("app"),
		Service:        src.word("service"),
		Tag:            src.text("tag"),
		Zone:           src.word("zone"),
		DNS:            src.servers("dns"),
		Edge:           src.bool("edge"),
		TraceHeaders:   src.list("trace-headers"),
		TraceMake:      src.list("trace-make"),
		TraceSampled:   src.bool("trace-sampled"),
		LedgerTTL:      src.duration("ledger-ttl", time.Millisecond),
		LedgerSize:     src.number("ledger-size", 1, maxLedgerSize),
		Grace:          src.duration("grace", 0),
		Drain:          src.duration("drain", 0),
		MaxHead:        int(src.bytes("max-head", minHead, maxHead)),
		MaxBody:        src.bytes("max-body", 0, math.MaxInt64),
		HeadTimeout:    src.duration("head-timeout", time.Millisecond),
		OpaquePorts:    src.ports("opaque-ports"),
		TCPIdle:        src.duration("tcp-idle", 0),
		LogLevel:       src.level("log-level"),
		MaxConnections: src.numberIfAny("max-connections", 1, maxConnections),
		LogFormat:      src.oneOf("log-format", "text", "json"),
		AccessLog:      src.bool("access-log"),
		LogInputs:      src.bool("log-inputs"),
	}
	if s.Policy == "" {
		src.faults = append(src.faults, "policy: required, want the path of the policy file")
	}
	if !policy.ValidTag(s.Tag) {
		src.fault("tag", "1 to 63 of a-z, 0-9 and -, neither first nor last a -, and none of true, 1, false, 0")
	}
	if _, err := propagate.New(propagate.Config{TraceHeaders: s.TraceHeaders}); err != nil {
		src.refuse("trace-headers", err)
	}
	if _, err := propagate.New(propagate.Config{Make: s.TraceMake}); err != nil {
		src.refuse("trace-make", err)
	}
	src.refuseClashes(s)
	for _, name := range strayVariables(os.Environ()) {
		s.Warnings = append(s.Warnings, "environment variable "+name+" is no setting"+policy.DidYouMean(name, envNames()))
	}
	if len(src.faults) > 0 {
		return nil, append(src.faults, s.Warnings...) // a misspelt variable may be why another is missing
	}
	return s, nil
}

// refuseClashes finds ports that two settings want, which would look like a second
// sidecar when it binds, and an app that is this sidecar, which would be a loop.
func (s *sources) refuseClashes(set *settings) {
	type use struct {
		setting string
		addr    netip.AddrPort
	}
	var uses []use
	note := func(setting string, list []string) {
		for _, item := range list {
			addr, err := parseListen(item)
			if err != nil || addr.Port() == 0 {
				continue
			}
			taken := slices.IndexFunc(uses, func(u use) bool { return overlap(addr, u.addr) })
			if taken >= 0 {
				s.faultIn(setting, item, fmt.Sprintf("another port than %s has (%s)", uses[taken].setting, uses[taken].addr))
			}
			uses = append(uses, use{setting, addr})
		}
	}
	note("inbound", set.Inbound)
	note("outbound", set.Outbound)
	note("gateway", set.Gateway)
	note("admin", set.Admin)
	note("health", set.Health)
	note("app", []string{set.App})
}

// overlap reports whether both addresses cannot be bound at once.
func overlap(a, b netip.AddrPort) bool {
	return a.Port() == b.Port() &&
		(a.Addr() == b.Addr() || covers(a.Addr(), b.Addr()) || covers(b.Addr(), a.Addr()))
}
