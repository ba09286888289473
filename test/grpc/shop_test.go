package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"graylane/test/harness"
	"graylane/test/netns"
	"graylane/test/pods"
)

// shop is front -> users in pods whose traffic the kernel redirects. Its apps speak gRPC, and know of no proxy.
type shop struct {
	*pods.Cluster
	front            *pods.Pod
	base, gray       *server // of users
	frontAt, usersAt string  // what callers connect to
}

// inShops runs a test in a shop of each family of addresses.
func inShops(t *testing.T, test func(t *testing.T, s *shop)) {
	for i, family := range []struct{ name, users string }{{"IPv4", "10.96.0.3"}, {"IPv6", "fd96::3"}} {
		t.Run(family.name, func(t *testing.T) {
			const port = 50051
			s := &shop{Cluster: pods.NewCluster(t), usersAt: net.JoinHostPort(family.users, fmt.Sprint(port))}
			s.front = s.Start(t, "front-base", pods.Config{Service: "front", Tag: "base"})
			base := s.Start(t, "users-base", pods.Config{Service: "users", Tag: "base"})
			gray := s.Start(t, "users-gray", pods.Config{Service: "users", Tag: "gray"})
			s.frontAt = s.front.At(port)[i]
			s.Service(t, family.users, port, base, port)
			s.Apply(t, fmt.Sprintf(`apiVersion: graylane.dev/v1
rules: [{name: testers, tag: gray, matches: [{headers: [{name: x-user-id, value: "7"}]}]}]
services:
  - {name: front, hosts: [front], versions: [{tag: base, endpoints: [%q]}]}
  - {name: users, hosts: [users], versions: [{tag: base, endpoints: [%q]}, {tag: gray, endpoints: [%q]}]}
`, s.frontAt, base.At(port)[i], gray.At(port)[i]))
			s.base, s.gray = &server{name: base.Name}, &server{name: gray.Name}
			s.base.serve(t, base.Listen(t, fmt.Sprintf(":%d", port)), interop.NewTestServer())
			s.gray.serve(t, gray.Listen(t, fmt.Sprintf(":%d", port)), interop.NewTestServer())
			test(t, s)
		})
	}
}

// server is an app that tells in headers and trailers who it is, and notes how calls end.
type server struct {
	name              string
	running, canceled atomic.Int64
}

func (s *server) serve(t *testing.T, l net.Listener, service testgrpc.TestServiceServer) {
	t.Helper()
	g := grpc.NewServer(grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream))
	testgrpc.RegisterTestServiceServer(g, service)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
}

func (s *server) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	header, trailer := s.say(ctx)
	if err := errors.Join(grpc.SetHeader(ctx, header), grpc.SetTrailer(ctx, trailer)); err != nil {
		return nil, err
	}
	reply, err := handle(ctx, req)
	return reply, detailed(err)
}

func (s *server) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	s.running.Add(1)
	defer s.running.Add(-1)
	header, trailer := s.say(stream.Context())
	if err := stream.SetHeader(header); err != nil {
		return err
	}
	stream.SetTrailer(trailer)
	err := handle(srv, stream)
	if stream.Context().Err() == context.Canceled {
		s.canceled.Add(1)
	}
	return detailed(err)
}

// say tells who the app is, and what came with a call.
func (s *server) say(ctx context.Context) (header, trailer metadata.MD) {
	md, _ := metadata.FromIncomingContext(ctx)
	header = metadata.Pairs("app", s.name+fmt.Sprint(md.Get("x-gray")))
	if deadline, ok := ctx.Deadline(); ok {
		header.Set("left", time.Until(deadline).String())
	}
	return header, metadata.Pairs("served-by", s.name)
}

// detailed adds details to an error, as bytes that no header can hold as they are.
func detailed(err error) error {
	if err == nil {
		return nil
	}
	st, failed := status.Convert(err).WithDetails(&testgrpc.Payload{Body: []byte(details)})
	if failed != nil {
		return failed
	}
	return st.Err()
}

const details = "\x00\xff, as asked"

// client calls from a pod's app, or from a machine, all on one connection. connections counts that.
func client(t *testing.T, from *netns.Space, addr, authority string) (tc testgrpc.TestServiceClient, connections *atomic.Int64) {
	t.Helper()
	connections = new(atomic.Int64)
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithAuthority(authority),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(_ context.Context, addr string) (net.Conn, error) {
			connections.Add(1)
			conn, err := from.Dial(t, pods.AppUser, addr)
			if err != nil {
				return nil, err
			}
			return conn, conn.SetDeadline(time.Time{}) // calls have theirs
		}))
	harness.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	return testgrpc.NewTestServiceClient(conn), connections
}

// sizes of messages: some are larger than what may be on its way before the other end has made room.
var sizes = []int32{31_415, 9, 0, 1 << 20, 2_653}

// kinds of calls. Each sends and gets messages of all sizes, as far as the kind goes.
var kinds = []struct {
	name string
	call func(ctx context.Context, tc testgrpc.TestServiceClient, opts ...grpc.CallOption) error
}{
	{"unary", func(ctx context.Context, tc testgrpc.TestServiceClient, opts ...grpc.CallOption) error {
		for _, size := range sizes {
			reply, err := tc.UnaryCall(ctx, &testgrpc.SimpleRequest{Payload: payload(size), ResponseSize: size}, opts...)
			if err != nil {
				return err
			}
			if err := want(reply.GetPayload(), size); err != nil {
				return err
			}
		}
		return nil
	}},
	{"client stream", func(ctx context.Context, tc testgrpc.TestServiceClient, opts ...grpc.CallOption) error {
		stream, err := tc.StreamingInputCall(ctx, opts...)
		if err != nil {
			return err
		}
		var sent int32
		for _, size := range sizes {
			if err := stream.Send(&testgrpc.StreamingInputCallRequest{Payload: payload(size)}); err != nil {
				return err
			}
			sent += size
		}
		reply, err := stream.CloseAndRecv()
		if err == nil && reply.GetAggregatedPayloadSize() != sent {
			err = fmt.Errorf("%d bytes arrived, want %d", reply.GetAggregatedPayloadSize(), sent)
		}
		return err
	}},
	{"server stream", func(ctx context.Context, tc testgrpc.TestServiceClient, opts ...grpc.CallOption) error {
		stream, err := tc.StreamingOutputCall(ctx, &testgrpc.StreamingOutputCallRequest{ResponseParameters: answers(sizes...)}, opts...)
		if err != nil {
			return err
		}
		for _, size := range sizes {
			if err := receive(stream, size); err != nil {
				return err
			}
		}
		return end(stream)
	}},
	{"bidirectional stream", func(ctx context.Context, tc testgrpc.TestServiceClient, opts ...grpc.CallOption) error {
		stream, err := tc.FullDuplexCall(ctx, opts...)
		if err != nil {
			return err
		}
		for _, size := range sizes {
			if err := exchange(stream, size); err != nil {
				return err
			}
		}
		if err := stream.CloseSend(); err != nil {
			return err
		}
		return end(stream)
	}},
}

type bidi = grpc.BidiStreamingClient[testgrpc.StreamingOutputCallRequest, testgrpc.StreamingOutputCallResponse]

// exchange sends one message and gets one.
func exchange(stream bidi, size int32) error {
	err := stream.Send(&testgrpc.StreamingOutputCallRequest{Payload: payload(size), ResponseParameters: answers(size)})
	if err != nil {
		return err
	}
	return receive(stream, size)
}

type source interface {
	Recv() (*testgrpc.StreamingOutputCallResponse, error)
}

func receive(stream source, size int32) error {
	reply, err := stream.Recv()
	if err != nil {
		return err
	}
	return want(reply.GetPayload(), size)
}

func end(stream source) error {
	if reply, err := stream.Recv(); err != io.EOF {
		return fmt.Errorf("got %d bytes, %w after the last message", len(reply.GetPayload().GetBody()), err)
	}
	return nil
}

func payload(size int32) *testgrpc.Payload { return &testgrpc.Payload{Body: make([]byte, size)} }

func want(got *testgrpc.Payload, size int32) error {
	if len(got.GetBody()) != int(size) {
		return fmt.Errorf("got %d bytes, want %d", len(got.GetBody()), size)
	}
	return nil
}

func answers(sizes ...int32) (list []*testgrpc.ResponseParameters) {
	for _, size := range sizes {
		list = append(list, &testgrpc.ResponseParameters{Size: size})
	}
	return list
}
