package upstream

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// serving is ServingStatus.SERVING of grpc.health.v1.
const serving = 1

// askGRPC calls grpc.health.v1.Health/Check. The messages have one field each, so
// that no generated code and no gRPC library is needed.
func (a *asker) askGRPC(ctx context.Context, address string, c *Check) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+address+"/grpc.health.v1.Health/Check", bytes.NewReader(healthRequest(c.Service)))
	if err != nil {
		return fmt.Errorf("checking: %w", err)
	}
	req.Header = c.Header.Clone()
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	req.Header.Set("User-Agent", "graylane-health")
	// An HTTP/2 connection carries many calls: it is closed, so that the next check
	// has one of its own.
	defer a.h2c.CloseIdleConnections()
	resp, err := a.h2c.RoundTrip(req)
	if err != nil {
		return fmt.Errorf("checking: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	if err != nil {
		return fmt.Errorf("checking: reading the answer: %w", err)
	}
	if code := grpcStatus(resp); code != "0" {
		return fmt.Errorf("checking: gRPC health answered %d with grpc-status %q, want 200 with 0", resp.StatusCode, code)
	}
	status, err := healthStatus(body)
	if err != nil {
		return fmt.Errorf("checking: reading the gRPC health answer: %w", err)
	}
	if status != serving {
		return fmt.Errorf("checking: gRPC health answered status %d, want %d (SERVING)", status, serving)
	}
	return nil
}

// grpcStatus is in the trailers, or in the headers of an answer that has nothing
// but them.
func grpcStatus(resp *http.Response) string {
	if code := resp.Trailer.Get("Grpc-Status"); code != "" {
		return code
	}
	return resp.Header.Get("Grpc-Status")
}

// healthRequest is HealthCheckRequest{service} in a gRPC frame: one byte for no
// compression, four of length, the message.
func healthRequest(service string) []byte {
	var message []byte
	if service != "" {
		message = append(message, 1<<3|2) // field 1, length-delimited
		message = binary.AppendUvarint(message, uint64(len(service)))
		message = append(message, service...)
	}
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	return append(frame, message...)
}

// healthStatus reads field 1 of HealthCheckResponse. A message without it says
// UNKNOWN, which is 0.
func healthStatus(frame []byte) (uint64, error) {
	const head = 5
	if len(frame) < head || frame[0] != 0 || int(binary.BigEndian.Uint32(frame[1:])) != len(frame)-head {
		return 0, errFrame
	}
	message := frame[head:]
	var status uint64
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 || key&7 != 0 {
			return 0, errFrame // the message has no field that is no number
		}
		value, m := binary.Uvarint(message[n:])
		if m <= 0 {
			return 0, errFrame
		}
		if key>>3 == 1 {
			status = value
		}
		message = message[n+m:]
	}
	return status, nil
}

var errFrame = errors.New("it is no HealthCheckResponse")
