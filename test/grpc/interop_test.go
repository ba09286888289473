package grpc_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/interop"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

// A case of the suite that fails ends the process with a log line that says why.
func TestInteropThroughTwoSidecars(t *testing.T) {
	app := serve(t, func(s *grpc.Server) { testgrpc.RegisterTestServiceServer(s, interop.NewTestServer()) })
	conn := newMesh(t, app, app).dial(t)
	tc := testgrpc.NewTestServiceClient(conn)
	for _, c := range []struct {
		name string
		run  func(ctx context.Context)
	}{
		{"empty_unary", func(ctx context.Context) { interop.DoEmptyUnaryCall(ctx, tc) }},
		{"large_unary", func(ctx context.Context) { interop.DoLargeUnaryCall(ctx, tc) }},
		{"client_streaming", func(ctx context.Context) { interop.DoClientStreaming(ctx, tc) }},
		{"server_streaming", func(ctx context.Context) { interop.DoServerStreaming(ctx, tc) }},
		{"ping_pong", func(ctx context.Context) { interop.DoPingPong(ctx, tc) }},
		{"empty_stream", func(ctx context.Context) { interop.DoEmptyStream(ctx, tc) }},
		{"timeout_on_sleeping_server", func(ctx context.Context) { interop.DoTimeoutOnSleepingServer(ctx, tc) }},
		{"cancel_after_begin", func(ctx context.Context) { interop.DoCancelAfterBegin(ctx, tc) }},
		{"cancel_after_first_response", func(ctx context.Context) { interop.DoCancelAfterFirstResponse(ctx, tc) }},
		{"custom_metadata", func(ctx context.Context) { interop.DoCustomMetadata(ctx, tc) }},
		{"status_code_and_message", func(ctx context.Context) { interop.DoStatusCodeAndMessage(ctx, tc) }},
		{"special_status_message", func(ctx context.Context) { interop.DoSpecialStatusMessage(ctx, tc) }},
		{"unimplemented_service", func(ctx context.Context) {
			interop.DoUnimplementedService(ctx, testgrpc.NewUnimplementedServiceClient(conn))
		}},
		{"unimplemented_method", func(ctx context.Context) { interop.DoUnimplementedMethod(ctx, conn) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c.run(ctx)
		})
	}
}

// named is an app that says who it is and what it was told.
type named struct {
	testgrpc.UnimplementedTestServiceServer
	name string
}

func (n named) UnaryCall(ctx context.Context, _ *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	return &testgrpc.SimpleResponse{Username: n.name + fmt.Sprint(md.Get("x-gray")), OauthScope: fmt.Sprint(len(md.Get("traceparent")))}, nil
}

func TestEveryCallOnAConnectionIsDecidedByItself(t *testing.T) {
	app := func(name string) string {
		return serve(t, func(s *grpc.Server) { testgrpc.RegisterTestServiceServer(s, named{name: name}) })
	}
	p := newMesh(t, app("base"), app("gray"))
	tc := testgrpc.NewTestServiceClient(p.dial(t))
	for i := range 20 {
		for _, c := range []struct{ key, value, want string }{
			{"x-other", "1", "base[base]"},
			{"x-gray", "gray", "gray[gray]"},
			{"baggage", "a=1,x-gray=gray", "gray[gray]"},
			{"x-user-id", "7", "gray[gray]"},
			{"x-gray", "blue", "base[blue]"},
		} {
			ctx := metadata.AppendToOutgoingContext(t.Context(), c.key, c.value)
			got, err := tc.UnaryCall(ctx, &testgrpc.SimpleRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if got.GetUsername() != c.want || got.GetOauthScope() != "1" {
				t.Fatalf("round %d, %s: %s: got %s with %s traceparents, want %s with 1", i, c.key, c.value, got.GetUsername(), got.GetOauthScope(), c.want)
			}
		}
	}
}

func TestCallsHearOfErrorsAsStatuses(t *testing.T) {
	app := serve(t, func(s *grpc.Server) { testgrpc.RegisterTestServiceServer(s, named{name: "base"}) })
	p := newMesh(t, app, app)
	tc := testgrpc.NewTestServiceClient(p.dial(t))
	if _, err := tc.UnaryCall(t.Context(), &testgrpc.SimpleRequest{}); err != nil {
		t.Fatal(err)
	}
	p.base.Kill()
	_, err := tc.UnaryCall(t.Context(), &testgrpc.SimpleRequest{})
	if got := status.Code(err); got != codes.Unavailable {
		t.Errorf("with no base: got %v, want Unavailable", err)
	}
}
