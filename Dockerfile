# The service with the built-in embedding model: nothing is fetched when it runs.
FROM python:3.13.14-slim-trixie@sha256:6771159cd4fa5d9bba1258caf0b82e6b73458c694d178ad97c5e925c2d0e1a91 AS build
WORKDIR /build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/build && python -m venv /opt/memstone
# Exact files, by their hashes: scripts/lock_container.py writes both lists.
COPY container/requirements.txt container/build-requirements.txt ./
RUN /opt/build/bin/pip install --require-hashes --only-binary :all: --requirement build-requirements.txt \
    && /opt/memstone/bin/pip install --require-hashes --only-binary :all: --requirement requirements.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/memstone/bin/pip install --no-deps dist/*.whl

FROM python:3.13.14-slim-trixie@sha256:6771159cd4fa5d9bba1258caf0b82e6b73458c694d178ad97c5e925c2d0e1a91
# A user of its own, and one folder it may write to.
RUN useradd --system --uid 10001 --user-group --no-create-home memstone \
    && install --directory --owner=memstone --group=memstone --mode=0700 /data \
    && install -D --mode=0644 /dev/null /etc/memstone/memstone.toml
COPY --from=build /opt/memstone /opt/memstone
ENV PATH="/opt/memstone/bin:$PATH" \
    HOME=/data \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MEMSTONE_CONFIG=/etc/memstone/memstone.toml \
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
