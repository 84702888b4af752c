# The service with the built-in embedding model: nothing is fetched when it runs.
FROM python:3.13-slim AS build
WORKDIR /build
RUN python -m venv /opt/memstone
ENV PATH="/opt/memstone/bin:$PATH" PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN pip install '.[server,mcp,postgres]'

FROM python:3.13-slim
# A user of its own, and one folder it may write to.
RUN useradd --system --uid 10001 --user-group --no-create-home memstone \
    && install --directory --owner=memstone --group=memstone --mode=0700 /data
COPY --from=build /opt/memstone /opt/memstone
ENV PATH="/opt/memstone/bin:$PATH" \
    HOME=/data \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MEMSTONE_STORE__URL=sqlite:////data/memstone.db \
    MEMSTONE_SERVER__HOST=0.0.0.0 \
    MEMSTONE_SERVER__PORT=8420 \
    MEMSTONE_SERVER__LOG=json
USER memstone
WORKDIR /data
VOLUME /data
EXPOSE 8420
# Ready means that the store answers. Nothing is written for it, so it may be asked often.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8420/readyz', timeout=4)"]
# It ends within five seconds of SIGTERM, with what waits written.
STOPSIGNAL SIGTERM
ENTRYPOINT ["memstone"]
CMD ["serve"]
