# syntax=docker/dockerfile:1
# The operator as an image: the official Node LTS, our sources as they are (Node strips their types while loading; there is no
# build step) and production dependencies. Give NODE_IMAGE a digest for a build that can be repeated:
#   docker build --build-arg NODE_IMAGE=docker.io/library/node:26.10.0-trixie-slim@sha256:... .
ARG NODE_IMAGE=docker.io/library/node:26.10.0-trixie-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional packages are a Node for machines without one; the image brings its own.
RUN ["npm", "ci", "--omit=dev", "--omit=optional", "--ignore-scripts"]

FROM ${NODE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="apphosting-operator" \
      org.opencontainers.image.description="A Kubernetes operator for a hosting service that is reached over a REST API" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# glibc gives memory that is free back, and keeps fewer heaps for its threads: a tenth of what the operator takes.
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=131072
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY src ./src
# By number, so that Kubernetes can tell that it is not root; nothing under /app belongs to it.
USER 65532:65532
EXPOSE 8080
# Node itself is process 1 and handles SIGTERM: no shell and no npm in between.
# The space for new objects is of one size from the start: less memory, and less work for the collector.
ENTRYPOINT ["node", "--min-semi-space-size=4", "--max-semi-space-size=4", "/app/src/main.ts"]
CMD ["run"]
