package http1

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkExchange(b *testing.B) {
	for _, size := range []int{0, 1 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			exchange := exchanger(b, "GET /a/b?c=d HTTP/1.1\r\n"+typicalHead+"\r\n",
				fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", size, strings.Repeat("b", size)))
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				exchange()
			}
		})
	}
}

func BenchmarkScanRequest(b *testing.B) {
	head := []byte("GET /a/b?c=d HTTP/1.1\r\n" + typicalHead + "\r\n")
	var r Request
	b.SetBytes(int64(len(head)))
	for b.Loop() {
		r.reset()
		if _, err := r.scan(head); err != nil {
			b.Fatal(err)
		}
		if err := r.inspect(nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParsersAgree(b *testing.B) {
	head := []byte("GET /a/b?c=d HTTP/1.1\r\n" + typicalHead + "\r\n")
	var r Request
	p := newParsers()
	r.reset()
	_, err := r.scan(head)
	if err == nil {
		err = r.inspect(nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := p.agree(&r); err != nil {
			b.Fatal(err)
		}
	}
}
