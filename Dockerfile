# One image for hooks, prober and output copier: docker build -t dynamo-hooks:0.1.0 .
ARG PYTHON_VERSION=3.12

FROM python:${PYTHON_VERSION}-slim AS build
WORKDIR /src
RUN python -m venv /opt/dynamo-hooks
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY pyproject.toml README.md LICENSE ./
COPY crds crds
COPY metacontroller metacontroller
COPY hooks hooks
RUN /opt/dynamo-hooks/bin/pip install . \
    && /opt/dynamo-hooks/bin/pip uninstall --yes pip \
    && /opt/dynamo-hooks/bin/python -m compileall -q /opt/dynamo-hooks/lib

FROM python:${PYTHON_VERSION}-slim
LABEL org.opencontainers.image.title="dynamo-hooks" \
      org.opencontainers.image.description="NVIDIA Dynamo graphs on Kubernetes, rendered by stateless hooks behind Metacontroller" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/dynamo-hooks /opt/dynamo-hooks
# The root filesystem may be read-only: bytecode is compiled above, and the programs write only to /tmp.
ENV PATH=/opt/dynamo-hooks/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /tmp
EXPOSE 8080 9443
# No HEALTHCHECK: the kubelet probes /healthz and /readyz.
ENTRYPOINT ["dynamo-hooks"]
# Ends with a sentence unless --token-file FILE or --set callers=any follows: an open port wants to know who may call.
CMD ["serve", "--bind", "0.0.0.0:8080"]
