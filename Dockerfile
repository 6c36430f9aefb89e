# One image for hooks, prober and output copier: docker build -t dynamo-hooks:0.1.0 .
# The base is pinned by digest, of all its architectures; a new release takes a new one (CONTRIBUTING.md, "A release").
ARG BASE=python:3.13-slim-trixie@sha256:8d9d0b8bcf6506481eae4907c18f5e3e7902e629f5f6d684f9e7c32e85e3ddf0

FROM ${BASE} AS build
WORKDIR /src
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
# Whatever is downloaded has the hash of the lock files.
COPY requirements/build.txt requirements/image.txt requirements/
RUN python -m venv /opt/build && python -m venv /opt/dynamo-hooks \
    && /opt/build/bin/pip install --require-hashes --only-binary :all: --requirement requirements/build.txt \
    && /opt/dynamo-hooks/bin/pip install --require-hashes --only-binary :all: --requirement requirements/image.txt
COPY pyproject.toml README.md LICENSE ./
COPY crds crds
COPY metacontroller metacontroller
COPY hooks hooks
RUN /opt/build/bin/pip wheel --no-deps --no-index --no-build-isolation --wheel-dir /wheels . \
    && /opt/dynamo-hooks/bin/pip install --no-deps --no-index /wheels/*.whl \
    && /opt/dynamo-hooks/bin/pip check \
    && /opt/dynamo-hooks/bin/pip uninstall --yes pip \
    && /opt/dynamo-hooks/bin/python -m compileall -q /opt/dynamo-hooks/lib

FROM ${BASE}
LABEL org.opencontainers.image.title="dynamo-hooks" \
      org.opencontainers.image.description="NVIDIA Dynamo graphs on Kubernetes, rendered by stateless hooks behind Metacontroller" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/dynamo-hooks /opt/dynamo-hooks
# The root filesystem may be read-only: bytecode is compiled above, and the programs write only to /tmp.
ENV PATH=/opt/dynamo-hooks/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# glibc would give each of many threads a heap of its own, which keeps the pages of the largest calls that it ever had.
# One heap for all threads; large blocks and the heap's end are given back as soon as they are free.
ENV MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=131072
USER 65532:65532
WORKDIR /tmp
EXPOSE 8080 9443
# No HEALTHCHECK: the kubelet probes /healthz and /readyz.
ENTRYPOINT ["dynamo-hooks"]
# Ends with a sentence unless --token-file FILE or --set callers=any follows: an open port wants to know who may call.
CMD ["serve", "--bind", "0.0.0.0:8080"]
