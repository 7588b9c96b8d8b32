# Baton in a small image: one binary, an unprivileged user, data in /data.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The caches outlive a build; the binary must not lie in one.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist --package baton --bin baton && cp target/dist/baton /baton

FROM debian:bookworm-slim
# `curl` is for the health check below. Certificates and time zones are inside the binary.
RUN apt-get update \
    && apt-get install -y --no-install-recommends curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data --create-home baton
COPY --from=build /baton /usr/local/bin/baton
USER baton
WORKDIR /data
VOLUME /data
ENV BATON_LISTEN=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["curl", "--fail", "--silent", "http://127.0.0.1:8080/healthz"]
# The main process is Baton itself, so that SIGTERM reaches it and it can finish what is in hand.
ENTRYPOINT ["/usr/local/bin/baton"]
CMD ["serve"]
