# The server with all leagues, and any agent of this package: `docker build -t agent-league .`
FROM python:3.11-slim-bookworm

RUN useradd --create-home --uid 1000 league && install --directory --owner league --group league /data
WORKDIR /app
COPY pyproject.toml requirements.lock requirements-dev.lock README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --require-hashes --requirement requirements.lock \
    && pip install --no-cache-dir --constraint requirements-dev.lock '.[postgres]'

USER league
WORKDIR /data
VOLUME /data
ENV LEAGUE_HOME=/data/SHARED
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["league"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
