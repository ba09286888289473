package servers

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"graylane/test/harness"
	"graylane/test/pods"
)

func TestRedis(t *testing.T) {
	p := newPair(t)
	p.serve(t, "Ready to accept connections", "redis-server", "--protected-mode", "no", "--save", "", "--dir", folder(t))
	for i, host := range []string{p.callee.Addr, p.callee.Addr6} {
		t.Run(host, func(t *testing.T) {
			for _, c := range []struct {
				name, commands string
				flags          []string
				want           string
			}{
				{"a value", "SET greeting 'good day'\nGET greeting\n", nil, "OK\ngood day\n"},
				{"RESP3", "HSET h f 1\nHGETALL h\nDEL h\n", []string{"-3"}, "1\nf 1\n1\n"},
				{"a transaction", "SET n 1\nMULTI\nINCR n\nINCR n\nEXEC\n", nil, "OK\nOK\nQUEUED\nQUEUED\n2\n3\n"},
				{"an error", "INCR greeting\n", nil, "ERR value is not an integer or out of range\n\n"},
				{"a large value", strings.Repeat("x", 10<<20), []string{"-x", "SET", "large"}, "OK\n"},
				{"its length", "STRLEN large\n", nil, fmt.Sprintln(10 << 20)},
			} {
				if got := p.run(t, c.commands, "redis-cli", append([]string{"-h", host}, c.flags...)...); got != c.want {
					t.Errorf("%s: got %q, want %q", c.name, got, c.want)
				}
			}
			const commands = 10_000
			got := p.run(t, strings.Repeat("SET a b\r\n", commands), "redis-cli", "-h", host, "--pipe")
			if want := fmt.Sprintf("errors: 0, replies: %d\n", commands); !strings.HasSuffix(got, want) {
				t.Errorf("a pipeline: got %q, want %q at the end", got, want)
			}
			p.wantRelayed(t, p.callee.At(6379)[i])
		})
	}
}

func TestRedisSubscriptions(t *testing.T) {
	p := newPair(t)
	p.serve(t, "Ready to accept connections", "redis-server", "--protected-mode", "no", "--save", "", "--dir", folder(t))
	for _, host := range []string{p.callee.Addr, p.callee.Addr6} {
		subscriber := p.caller.Launch(t, "subscriber", pods.AppUser, exec.Command("redis-cli", "-h", host, "SUBSCRIBE", "news"))
		harness.WaitFor(t, "the subscription is in force", func() bool { return subscriber.Log.String() == "subscribe\nnews\n1\n" })
		for _, news := range []string{"one", "two"} {
			if got := p.run(t, "", "redis-cli", "-h", host, "PUBLISH", "news", news); got != "1\n" {
				t.Errorf("%s: published to %q subscribers, want 1", host, got)
			}
		}
		harness.WaitFor(t, "the news have come", func() bool {
			return subscriber.Log.String() == "subscribe\nnews\n1\nmessage\nnews\none\nmessage\nnews\ntwo\n"
		})
		subscriber.Kill()
		harness.WaitFor(t, "the server sees the subscriber go", func() bool {
			return p.run(t, "", "redis-cli", "-h", host, "PUBSUB", "NUMSUB", "news") == "news\n0\n"
		})
	}
}
