# syntax=docker/dockerfile:1
# The operator as an image: Node, the bundle that `npm run bundle` makes of our sources, and nothing else. Give NODE_IMAGE a digest,
# and the build a timestamp, for an image that is the same byte by byte (buildah: --timestamp 0; docker: SOURCE_DATE_EPOCH=0 and
# --output type=image,rewrite-timestamp=true):
#   docker build --build-arg NODE_IMAGE=docker.io/library/node:26.10.0-trixie-slim@sha256:... .
ARG NODE_IMAGE=docker.io/library/node:26.10.0-trixie-slim

FROM ${NODE_IMAGE} AS bundle
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN ["npm", "ci", "--ignore-scripts"]
COPY LICENSE ./
COPY src ./src
COPY deploy/bundle.ts deploy/image-root.ts ./deploy/
RUN ["node", "deploy/image-root.ts", "/image"]
RUN ["node", "deploy/bundle.ts", "/app"]

FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="apphosting-operator" \
      org.opencontainers.image.description="A Kubernetes operator for a hosting service that is reached over a REST API" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# glibc gives memory that is free back, and keeps one heap for its threads: a tenth of what the operator takes.
# There is no user to have a home folder; compiled code is kept nowhere, since nothing can be written.
ENV PATH=/usr/local/bin \
    HOME=/ \
    NODE_ENV=production \
    MALLOC_ARENA_MAX=1 \
    MALLOC_MMAP_THRESHOLD_=32768 \
    MALLOC_TRIM_THRESHOLD_=65536
COPY --from=bundle /image /
COPY --from=bundle /app /app
# By number, so that Kubernetes can tell that it is not root; nothing belongs to it.
USER 65532:65532
EXPOSE 8080
# Node itself is process 1 and handles SIGTERM.
# The space for new objects is of one size from the start: less memory, and less work for the collector.
ENTRYPOINT ["node", "--min-semi-space-size=3", "--max-semi-space-size=3", "/app/main.mjs"]
CMD ["run"]
