package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"graylane/internal/redirect"
)

// defaultUID is the user that the injector gives the sidecar.
const defaultUID = 1337

func redirectCmd() *cobra.Command {
	var flags redirectFlags
	cmd := &cobra.Command{
		Use:   "redirect",
		Short: "Bring a pod's TCP traffic to its sidecar, by kernel rules",
		Long: `Redirect puts one nftables table of our own in force, in place of any it had put
there before: calls that come in go to the sidecar's inbound port, calls that go
out to its outbound port, IPv4 and IPv6. It needs CAP_NET_ADMIN in the pod's
network, so it runs as root in an init container; the image needs no nft and no
iptables.

Left alone are calls of --uid, calls to loopback, calls to --health-port, calls to
ports where no app listens, which are refused as ever, everything but TCP (DNS over
UDP among it), and what the flags exclude, or do not include. Peers are the callers
of inbound calls and the destinations of outbound ones.

The check makes one connection from the pod, for IPv4 and IPv6, and sees it arrive at
the outbound port. It needs no sidecar, and succeeds without one: then it listens there
itself meanwhile, and says so.`,
		Example: `  sidecar redirect
  sidecar redirect --outbound-exclude-ports 3306,6379 --outbound-exclude-peers 10.9.0.0/16
  sidecar redirect --dry-run
  sidecar redirect --check
  sidecar redirect --remove`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rules, err := flags.rules()
			if err != nil {
				return err
			}
			return flags.act(cmd, rules)
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

// redirectFlags is what `redirect` was told, as it was written.
type redirectFlags struct {
	uid                   uint32
	inboundPort           portFlag
	outboundPort          portFlag
	healthPort            portFlag
	inbound, outbound     sideFlags
	remove, check, dryRun bool
}

// portFlag is a port, or 0.
type portFlag uint16

func (p *portFlag) String() string { return strconv.Itoa(int(*p)) }
func (p *portFlag) Type() string   { return "port" }

func (p *portFlag) Set(text string) error {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return errors.New("want a port from 1 to 65535")
	}
	*p = portFlag(port)
	return nil
}

// sideFlags narrows what is redirected in one direction.
type sideFlags struct{ include, exclude filterFlags }

type filterFlags struct{ ports, peers, interfaces []string }

func (f *redirectFlags) add(fs *pflag.FlagSet) {
	fs.Uint32Var(&f.uid, "uid", defaultUID, "`uid` that the sidecar runs as")
	f.inboundPort, f.outboundPort, f.healthPort = 15006, 15001, 15021
	fs.Var(&f.inboundPort, "inbound-port", "port of the sidecar that takes calls to the pod")
	fs.Var(&f.outboundPort, "outbound-port", "port of the sidecar that takes calls from the pod")
	fs.Var(&f.healthPort, "health-port", "port of the sidecar that the kubelet and Prometheus ask; 0: none")
	f.inbound.add(fs, "inbound")
	f.outbound.add(fs, "outbound")
	fs.BoolVar(&f.remove, "remove", false, "take the rules out of force")
	fs.BoolVar(&f.check, "check", false, "change nothing; fail unless these rules are in force and a connection arrives")
	fs.BoolVar(&f.dryRun, "dry-run", false, "change nothing; print the rules as nft writes them")
}

func (f *sideFlags) add(fs *pflag.FlagSet, direction string) {
	list := func(to *[]string, name, usage string) {
		fs.StringSliceVar(to, direction+"-"+name, nil, usage)
	}
	list(&f.include.ports, "include-ports", "`ports` to redirect alone, such as 80,8000-8080 (default all)")
	list(&f.exclude.ports, "exclude-ports", "`ports` to leave alone (default none)")
	list(&f.include.peers, "include-peers", "`networks` to redirect alone, such as 10.0.0.0/8,fd00::/8 (default all)")
	list(&f.exclude.peers, "exclude-peers", "`networks` to leave alone (default none)")
	list(&f.include.interfaces, "include-interfaces", "`interfaces` to redirect alone, such as eth0 (default all)")
	list(&f.exclude.interfaces, "exclude-interfaces", "`interfaces` to leave alone (default none)")
}

// rules checks the flags. The error is a usageError with every fault.
func (f *redirectFlags) rules() (redirect.Rules, error) {
	var faults usageError
	if f.inboundPort == 0 {
		faults = append(faults, "inbound-port: got 0, want 1 to 65535")
	}
	if f.outboundPort == 0 {
		faults = append(faults, "outbound-port: got 0, want 1 to 65535")
	}
	if f.inboundPort == f.outboundPort {
		faults = append(faults, fmt.Sprintf("outbound-port: got %d, want another port than inbound-port has", f.outboundPort))
	}
	if f.healthPort != 0 && (f.healthPort == f.inboundPort || f.healthPort == f.outboundPort) {
		faults = append(faults, fmt.Sprintf("health-port: got %d, want another port than inbound-port and outbound-port have", f.healthPort))
	}
	if f.uid == 0 {
		faults = append(faults, "uid: got 0, want the sidecar's own user: root's calls would pass it, those of an app that runs as root too")
	}
	if given := f.actions(); len(given) > 1 {
		faults = append(faults, fmt.Sprintf("got --%s, want one of them", strings.Join(given, " and --")))
	}
	rules := redirect.Rules{
		UID:      f.uid,
		Inbound:  f.inbound.side("inbound", uint16(f.inboundPort), &faults),
		Outbound: f.outbound.side("outbound", uint16(f.outboundPort), &faults),
	}
	if f.healthPort != 0 {
		health := redirect.PortRange{First: uint16(f.healthPort), Last: uint16(f.healthPort)}
		rules.Inbound.Exclude.Ports = append(rules.Inbound.Exclude.Ports, health)
	}
	if len(faults) > 0 {
		return redirect.Rules{}, faults
	}
	return rules, nil
}

func (f *redirectFlags) actions() []string {
	var given []string
	for _, a := range []struct {
		name string
		set  bool
	}{{"remove", f.remove}, {"check", f.check}, {"dry-run", f.dryRun}} {
		if a.set {
			given = append(given, a.name)
		}
	}
	return given
}

func (f *sideFlags) side(direction string, port uint16, faults *usageError) redirect.Side {
	return redirect.Side{
		Port:    port,
		Include: f.include.filter(direction+"-include", faults),
		Exclude: f.exclude.filter(direction+"-exclude", faults),
	}
}

func (f *filterFlags) filter(name string, faults *usageError) redirect.Filter {
	return redirect.Filter{
		Ports:      parseAll(f.ports, redirect.ParsePort, name+"-ports", faults),
		Peers:      parseAll(f.peers, redirect.ParsePeer, name+"-peers", faults),
		Interfaces: parseAll(f.interfaces, redirect.ParseInterface, name+"-interfaces", faults),
	}
}

func parseAll[T any](items []string, parse func(string) (T, error), flag string, faults *usageError) []T {
	var all []T
	for _, item := range items {
		v, err := parse(strings.TrimSpace(item))
		if err != nil {
			*faults = append(*faults, fmt.Sprintf("%s: %v", flag, err))
			continue
		}
		all = append(all, v)
	}
	return all
}

func (f *redirectFlags) act(cmd *cobra.Command, rules redirect.Rules) error {
	var err error
	var done string
	switch {
	case f.dryRun:
		_, err := fmt.Fprint(cmd.OutOrStdout(), rules)
		return err
	case f.remove:
		err, done = redirect.Remove(), "redirect rules removed"
	case f.check:
		var vacant []netip.AddrPort
		vacant, err = rules.Check(cmd.Context())
		done = checked(vacant)
	default:
		err, done = rules.Install(), "redirect rules in force"
	}
	if errors.Is(err, redirect.ErrClosedPorts) {
		done += "; warning: " + err.Error()
		err = nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), done)
	return err
}

// checked says what a check has found, and where no sidecar listens yet.
func checked(vacant []netip.AddrPort) string {
	done := "redirect rules are in force, and a connection arrived"
	for i, addr := range vacant {
		if i == 0 {
			done += "; but no sidecar listens there yet:"
		}
		done += " " + addr.String()
	}
	return done
}
