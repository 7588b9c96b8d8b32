# syntax=docker/dockerfile:1
# Baton in a small image: one program, no shell, an unprivileged user. The dashboard, certificates and time zones are
# inside the program. All that it writes lies in /data; the rest of the file system may be read-only (docker run --read-only).

# Distroless names releases of Debian, not versions of itself. For builds that repeat to the byte, name a digest:
# --build-arg RUNTIME=gcr.io/distroless/cc-debian12@sha256:…
ARG RUNTIME=gcr.io/distroless/cc-debian12:nonroot

# The C library of both stages is that of Debian 12: what is built here runs there.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The caches outlive a build; the program must not lie in one.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist --package baton --bin baton \
    && cp target/dist/baton /baton \
    && mkdir /data

# hadolint ignore=DL3006
FROM ${RUNTIME}
COPY --from=build /baton /usr/local/bin/baton
# A new volume takes its owner from here. By number, so that Kubernetes can see that it is not root.
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
WORKDIR /data
VOLUME /data
ENV BATON_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["/usr/local/bin/baton", "check", "--live"]
# The main process is Baton itself, so that SIGTERM reaches it and it can finish what is in hand.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/baton"]
CMD ["serve"]
