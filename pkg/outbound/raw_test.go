package outbound_test

// What a raw caller sends and a raw origin answers.
const (
	okReply = "HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 05:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
	usual   = "User-Agent: curl/8.5.0\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate\r\nCookie: session=0123456789abcdef; theme=dark\r\n"
	traced  = "traceparent: " + parent + "\r\n"
)
