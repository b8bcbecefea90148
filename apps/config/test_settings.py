"""Settings of the tests: servers of their own in var/test, not durable and so fast, apart from the demo's.

They are left running for the next run; `make test` stops them.
"""

import os
from pathlib import Path

_VAR = Path(__file__).resolve().parents[2] / "var" / "test"

if "DATABASE_URL" not in os.environ:
    if "PYTEST_VERSION" in os.environ:
        from apps.core.embedded import EmbeddedServers

        _VAR.mkdir(parents=True, exist_ok=True)
        _addresses = EmbeddedServers(_VAR, durable=False).start()
        os.environ |= {"DATABASE_URL": _addresses.database_url, "REDIS_URL": _addresses.redis_url}
    else:
        # A type checker reads settings, and connects to nothing.
        os.environ |= {"DATABASE_URL": "postgresql://127.0.0.1:1/none", "REDIS_URL": "redis://127.0.0.1:1/0"}
os.environ.setdefault("SECRET_KEY", "only-for-tests-0123456789-0123456789")
os.environ.setdefault("FERMATA_VAR", str(_VAR))
os.environ.setdefault("PLAIN_HTTP", "true")
os.environ.setdefault("LOG_LEVEL", "ERROR")

from apps.config.settings import *  # noqa: E402, F403

# A database of its own for every run, so that two runs at once do not meet.
DATABASES["default"]["TEST"] = {"NAME": f"test_fermata_{os.getpid()}"}  # noqa: F405
# Every test client would list all static files anew; the browser tests run with it.
MIDDLEWARE = [each for each in MIDDLEWARE if "whitenoise" not in each]  # noqa: F405
ALLOWED_HOSTS = ["testserver", "127.0.0.1", "localhost"]
# Hashing is slow on purpose; tests sign in thousands of times.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
# What would be sent is not: tests call the task's one function, or run a real worker of their own.
CELERY_BROKER_URL = "memory://"
