package policy

import (
	"strings"
	"testing"
)

func TestServiceForTheHostThatACallerNamed(t *testing.T) {
	p := mustParse(t, `
services:
  - {name: users, hosts: [Users, users.shop.svc.cluster.local.]}
  - {name: users-admin, hosts: ["users:9000"]}
  - {name: users-http, hosts: ["users.web:80"]}
  - {name: shop, hosts: ["*.shop"]}
  - {name: shop-eu, hosts: ["*.eu.shop"]}
  - {name: shop-eu-grpc, hosts: ["*.eu.shop:50051"]}
  - {name: front, hosts: [front.eu.shop]}
  - {name: v4, hosts: [10.1.2.3, "10.1.2.4:8080"]}
  - {name: v6, hosts: ["[2001:DB8:0::1]", "[::1]:8080"]}
  - {name: my_service}
`)
	for host, want := range map[string]string{
		"users": "users", "USERS": "users", "users.": "users", "users:80": "users", "users:1234": "users",
		"users:9000": "users-admin", "Users.:9000": "users-admin",
		"users.shop.svc.cluster.local": "users", "Users.Shop.svc.cluster.local.:8080": "users",
		"users.web": "users-http", "users.web:80": "users-http", "users.web:": "users-http", "users.web:81": "",
		"a.shop": "shop", "a.b.shop:99": "shop", "shop": "", ".shop": "",
		"a.eu.shop": "shop-eu", "a.eu.shop:50051": "shop-eu-grpc", "front.eu.shop:50051": "front", "eu.shop": "shop",
		"10.1.2.3": "v4", "10.1.2.3:8080": "v4", "10.1.2.4:8080": "v4", "10.1.2.4": "",
		"[2001:db8::1]": "v6", "[2001:db8::1]:99": "v6", "[::1]:8080": "v6", "[::1]": "", "[::1]:80": "",
		"my_service": "my_service",
		"":           "", ".": "", ":80": "", "unknown": "", "users.evil": "", "xusers": "",
		strings.Repeat("a", 300): "", "users:123456789": "",
	} {
		got := ""
		if s := p.ServiceFor([]byte(host)); s != nil {
			got = s.Name
		}
		if got != want {
			t.Errorf("host %q belongs to %q, want %q", host, got, want)
		}
	}
}

func TestAHostThatTwoServicesClaimStaysWithTheFirst(t *testing.T) {
	p := mustParse(t, "services: [{name: a, hosts: [x]}, {name: b, hosts: [x, y]}]")
	if got := p.ServiceFor([]byte("x")).Name; got != "a" {
		t.Errorf("host x belongs to %s, want a", got)
	}
}

func FuzzServiceFor(f *testing.F) {
	p := mustParse(f, `services: [{name: users, hosts: [users, "*.shop", "[::1]", "a.shop:81"]}]`)
	for _, host := range []string{"users:80", "a.b.shop.", "[::1]:80", "..", "*.shop", ":", "]:", "[", "a.shop:81"} {
		f.Add([]byte(host))
	}
	f.Fuzz(func(t *testing.T, host []byte) {
		before := string(host)
		got := p.ServiceFor(host)
		if string(host) != before {
			t.Errorf("host %q became %q", before, host)
		}
		if upper := p.ServiceFor([]byte(strings.ToUpper(before))); isASCII(before) && upper != got {
			t.Errorf("host %q belongs to %v, in upper case to %v", before, got, upper)
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
