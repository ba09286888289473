package grpc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"graylane/test/harness"
)

func TestRedirectedStreamsGoToTheirVersionsOnOneConnection(t *testing.T) {
	inShops(t, func(t *testing.T, s *shop) {
		tc, connections := client(t, s.front.Space, s.usersAt, "users")
		var callers sync.WaitGroup
		for _, kind := range kinds {
			for _, c := range []struct{ key, value, app, heard string }{
				{"x-other", "1", "users-base", "[base]"},
				{"x-gray", "gray", "users-gray", "[gray]"},
				{"x-user-id", "7", "users-gray", "[gray]"},
				{"x-gray", "blue", "users-base", "[blue]"},
			} {
				for range 3 {
					callers.Go(func() {
						ctx := metadata.AppendToOutgoingContext(t.Context(), c.key, c.value)
						var header, trailer metadata.MD
						err := kind.call(ctx, tc, grpc.Header(&header), grpc.Trailer(&trailer))
						got := fmt.Sprint(header.Get("app"), trailer.Get("served-by"), err)
						if want := fmt.Sprintf("[%s%s] [%s] <nil>", c.app, c.heard, c.app); got != want {
							t.Errorf("%s, %s: %s: got %s, want %s", kind.name, c.key, c.value, got, want)
						}
					})
				}
			}
		}
		callers.Wait()
		if n := connections.Load(); n != 1 {
			t.Errorf("got %d connections, want one for all calls", n)
		}
	})
}

func TestRedirectedStatusesKeepMessageAndDetails(t *testing.T) {
	inShops(t, func(t *testing.T, s *shop) {
		tc, _ := client(t, s.front.Space, s.usersAt, "users")
		const code, message = codes.Aborted, "\t100 % zu spät\n"
		asked := &testgrpc.EchoStatus{Code: int32(code), Message: message}
		check := func(name string, err error) {
			t.Helper()
			st := status.Convert(err)
			if st.Code() != code || st.Message() != message {
				t.Errorf("%s: got %v %q, want %v %q", name, st.Code(), st.Message(), code, message)
			}
			if got := st.Details(); len(got) != 1 || string(got[0].(*testgrpc.Payload).GetBody()) != details {
				t.Errorf("%s: got details %v, want %q", name, got, details)
			}
		}
		_, err := tc.UnaryCall(t.Context(), &testgrpc.SimpleRequest{ResponseStatus: asked})
		check("instead of a message", err)

		stream, err := tc.FullDuplexCall(t.Context())
		harness.Must(t, err)
		harness.Must(t, exchange(stream, 9))
		harness.Must(t, stream.Send(&testgrpc.StreamingOutputCallRequest{ResponseStatus: asked}))
		_, err = stream.Recv()
		check("after a message", err)
	})
}

func TestDeadlinesAndCancellationReachThePod(t *testing.T) {
	inShops(t, func(t *testing.T, s *shop) {
		tc, _ := client(t, s.front.Space, s.usersAt, "users")
		open := func(ctx context.Context) bidi {
			t.Helper()
			stream, err := tc.FullDuplexCall(metadata.AppendToOutgoingContext(ctx, "x-gray", "gray"))
			harness.Must(t, err)
			harness.Must(t, exchange(stream, 9))
			return stream
		}
		left := func(stream bidi) []string {
			header, err := stream.Header()
			harness.Must(t, err)
			return header.Get("left")
		}
		ctx, cancel := context.WithCancel(t.Context())
		stream := open(ctx)
		if got := left(stream); len(got) > 0 {
			t.Errorf("the app was given %v, want no deadline", got)
		}
		cancel()
		if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
			t.Errorf("the caller got %v, want that it canceled", err)
		}
		harness.WaitFor(t, "the app's call is canceled", func() bool { return s.gray.canceled.Load() == 1 })

		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if got := left(open(ctx)); len(got) != 1 {
			t.Errorf("the app was given %v, want a deadline", got)
		} else if d, err := time.ParseDuration(got[0]); err != nil || d > time.Hour || d < 59*time.Minute {
			t.Errorf("the app was given %v, %v, want an hour", d, err)
		}
		cancel()
		harness.WaitFor(t, "the app's call is canceled", func() bool { return s.gray.canceled.Load() == 2 })

		// However far this call comes in its time: it ends.
		ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		late, err := tc.FullDuplexCall(metadata.AppendToOutgoingContext(ctx, "x-gray", "gray"))
		if err == nil {
			_, err = late.Recv()
		}
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("got %v, want that the deadline has passed", err)
		}
		harness.WaitFor(t, "nothing runs any more", func() bool { return s.gray.running.Load() == 0 })
	})
}

// forwarding is an app that calls users, and hands on the trace alone.
type forwarding struct {
	testgrpc.UnimplementedTestServiceServer
	users testgrpc.TestServiceClient
}

func (f forwarding) UnaryCall(ctx context.Context, req *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, trace := range md.Get("traceparent") {
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", trace)
	}
	var header metadata.MD
	reply, err := f.users.UnaryCall(ctx, req, grpc.Header(&header))
	if err != nil {
		return nil, err
	}
	return reply, grpc.SetHeader(ctx, metadata.Pairs("users", fmt.Sprint(header.Get("app"), len(header.Get("left")))))
}

func TestATagSurvivesAnAppThatForwardsTheTraceAlone(t *testing.T) {
	inShops(t, func(t *testing.T, s *shop) {
		users, connections := client(t, s.front.Space, s.usersAt, "users")
		front := &server{name: "front-base"}
		front.serve(t, s.front.Listen(t, ":50051"), forwarding{users: users})
		tc, _ := client(t, s.Client, s.frontAt, "front") // from outside
		var callers sync.WaitGroup
		for _, c := range []struct{ key, value, front, users string }{
			{"x-other", "1", "front-base[base]", "[users-base[base]] 1"},
			{"x-gray", "gray", "front-base[gray]", "[users-gray[gray]] 1"},
			{"x-user-id", "7", "front-base[gray]", "[users-gray[gray]] 1"},
		} {
			for range 10 {
				callers.Go(func() {
					ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), c.key, c.value), harness.Patience)
					defer cancel()
					var header metadata.MD
					_, err := tc.UnaryCall(ctx, &testgrpc.SimpleRequest{ResponseSize: 9}, grpc.Header(&header))
					got := fmt.Sprint(header.Get("app"), header.Get("users"), err)
					if want := fmt.Sprintf("[%s] [%s] <nil>", c.front, c.users); got != want {
						t.Errorf("%s: %s: got %s, want %s", c.key, c.value, got, want)
					}
				})
			}
		}
		callers.Wait()
		if n := connections.Load(); n != 1 {
			t.Errorf("front has %d connections, want one for all calls", n)
		}
	})
}
