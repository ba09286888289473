package redirect

import (
	"encoding/binary"
	"strconv"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// register is the kernel's register that every match goes through.
const register = unix.NFT_REG_1

// match compares a field of a connection's first packet with one value, or looks
// it up in a set.
type match struct {
	field field
	not   bool
	value value
	set   set // if not nil, in place of value
}

func equal(f field, v value) match   { return match{field: f, value: v} }
func differs(f field, v value) match { return match{field: f, not: true, value: v} }
func within(f field, s set) match    { return match{field: f, set: s} }
func without(f field, s set) match   { return match{field: f, not: true, set: s} }

func (m match) String() string {
	text := m.field.name
	if m.not {
		text += " !="
	}
	if m.set != nil {
		return text + " " + m.set.String()
	}
	return text + " " + m.value.text
}

// field is something that a packet, or its socket, is known by: as nft writes it,
// and what puts it into the register. A condition that nft does not write, such as
// IPv4 before an IPv4 address, comes first.
type field struct {
	name string
	load []expr.Any
}

var (
	inputInterface  = field{"iifname", meta(expr.MetaKeyIIFNAME)}
	outputInterface = field{"oifname", meta(expr.MetaKeyOIFNAME)}
	family          = field{"meta nfproto", meta(expr.MetaKeyNFPROTO)}
	protocol        = field{"meta l4proto", meta(expr.MetaKeyL4PROTO)}
	user            = field{"meta skuid", meta(expr.MetaKeySKUID)}
	destinationType = field{"fib daddr type", []expr.Any{
		&expr.Fib{Register: register, FlagDADDR: true, ResultADDRTYPE: true},
	}}
	// Sockets of apps are not transparent, and there is none where nobody listens.
	transparent = field{"socket transparent", []expr.Any{
		&expr.Socket{Register: register, Key: expr.SocketKeyTransparent},
	}}
	destinationPort = field{"tcp dport", packet(protocol, tcp, expr.PayloadBaseTransportHeader, 2, 2)}
	sourceIPv4      = field{"ip saddr", packet(family, ipv4, expr.PayloadBaseNetworkHeader, 12, 4)}
	destinationIPv4 = field{"ip daddr", packet(family, ipv4, expr.PayloadBaseNetworkHeader, 16, 4)}
	sourceIPv6      = field{"ip6 saddr", packet(family, ipv6, expr.PayloadBaseNetworkHeader, 8, 16)}
	destinationIPv6 = field{"ip6 daddr", packet(family, ipv6, expr.PayloadBaseNetworkHeader, 24, 16)}
)

func meta(key expr.MetaKey) []expr.Any {
	return []expr.Any{&expr.Meta{Key: key, Register: register}}
}

// packet loads bytes of a header, if the packet has one of that kind.
func packet(has field, kind value, header expr.PayloadBase, offset, length uint32) []expr.Any {
	condition := compare(has, expr.CmpOpEq, kind)
	return append(condition, &expr.Payload{DestRegister: register, Base: header, Offset: offset, Len: length})
}

func compare(f field, op expr.CmpOp, v value) []expr.Any {
	exprs := append([]expr.Any(nil), f.load...)
	return append(exprs, &expr.Cmp{Op: op, Register: register, Data: v.bytes})
}

// value is what a field can be: as nft writes it, and as the kernel compares it.
type value struct {
	text  string
	bytes []byte
}

var (
	tcp   = value{"tcp", []byte{unix.IPPROTO_TCP}}
	ipv4  = value{"ipv4", []byte{unix.NFPROTO_IPV4}}
	ipv6  = value{"ipv6", []byte{unix.NFPROTO_IPV6}}
	local = value{"local", native(unix.RTN_LOCAL)}
	no    = value{"0", []byte{0}}
)

func uid(n uint32) value {
	return value{strconv.FormatUint(uint64(n), 10), native(n)}
}

func device(name string) value {
	padded := make([]byte, unix.IFNAMSIZ)
	copy(padded, name)
	return value{strconv.Quote(name), padded}
}

func native(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }
