# Two images, each one static binary and nothing else:
#
#   docker build --target sidecar  -t graylane/sidecar:v1  --build-arg VERSION=v1 .
#   docker build --target injector -t graylane/injector:v1 --build-arg VERSION=v1 .
#
# With BuildKit, `--platform linux/arm64` builds for ARM, on any machine; the older builder makes linux/amd64 alone.
# The target demo is the app of demo/compose.yaml.
ARG GO_IMAGE=golang:1.26
FROM --platform=${BUILDPLATFORM:-linux/amd64} ${GO_IMAGE} AS build
ARG TARGETARCH
ARG VERSION=dev
ENV CGO_ENABLED=0 GOOS=linux GOARCH=${TARGETARCH:-amd64}
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The same source and the same Go give the same binaries, wherever they are built.
RUN go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=${VERSION}" -o /out/ ./cmd/sidecar ./cmd/injector ./demo

FROM scratch AS demo
COPY --from=build /out/demo /demo
USER 1000:1000
ENTRYPOINT ["/demo"]

FROM scratch AS injector
ARG VERSION=dev
LABEL org.opencontainers.image.title="graylane injector" \
      org.opencontainers.image.description="Adds the Graylane sidecar to pods" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /out/injector /injector
USER 1337:1337
ENTRYPOINT ["/injector"]
CMD ["serve"]

FROM scratch AS sidecar
ARG VERSION=dev
LABEL org.opencontainers.image.title="graylane sidecar" \
      org.opencontainers.image.description="Gray (canary) routing along a whole call chain, with no change to the app" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /out/sidecar /sidecar
USER 1337:1337
ENTRYPOINT ["/sidecar"]
CMD ["run"]
