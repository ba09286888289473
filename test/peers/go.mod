module graylane/test/peers

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	go.opentelemetry.io/contrib/propagators/b3 v1.47.0
	go.opentelemetry.io/contrib/propagators/jaeger v1.47.0
	go.opentelemetry.io/otel v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
	graylane v0.0.0
)

require github.com/cespare/xxhash/v2 v2.3.0 // indirect

replace graylane => ../..
