"""One settings file for every place; what differs comes from the environment (`env.py`). Safe when unset."""

import sys
from pathlib import Path

import structlog
from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

from apps.config.env import Environment
from apps.config.places import Places, find_places

env = Environment()
BASE_DIR = Path(__file__).resolve().parents[2]
VAR_DIR = Path(env.text("FERMATA_VAR") or BASE_DIR / "var")

PLACES: Places = find_places(env, VAR_DIR)
SECRET_KEY = PLACES.secret_key
DEBUG = env.flag("DEBUG")
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "apps.core",
    "apps.accounts",
    "apps.workflows",
    "apps.outbox",
    "apps.policies",
    "apps.items",
    "apps.actions",
    "apps.reviews",
    "apps.pipeline",
    "apps.sources",
    "apps.calibration",
    "apps.insights",
    "apps.api",
    "apps.demo",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "apps.core.middleware.SecurityHeaders",
    "apps.core.middleware.CompressedPages",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "apps.core.middleware.HostileInput",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.core.middleware.SignedInUnlessSaid",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "apps.config.urls"
WSGI_APPLICATION = "apps.config.wsgi.application"
APPEND_SLASH = True

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "csp.context_processors.nonce",
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "apps.core.context.site",
                "apps.workflows.context.navigation",
                "apps.reviews.context.desk_keys",
            ],
            "builtins": ["apps.core.templatetags.fermata"],
            "loaders": [
                ("django.template.loaders.cached.Loader", ["django.template.loaders.filesystem.Loader"]),
            ],
        },
    },
]

_database = conninfo_to_dict(PLACES.database_url)
DATABASES = {
    "default": {
        "ENGINE": "apps.core.postgres",
        "NAME": _database.pop("dbname", "fermata"),
        "USER": _database.pop("user", ""),
        "PASSWORD": _database.pop("password", ""),
        "HOST": _database.pop("host", ""),
        "PORT": str(_database.pop("port", "")),
        "OPTIONS": {"connect_timeout": 5} | _database | {"application_name": "fermata"},
        # A kept connection a thread; checked once a request, because PostgreSQL may have restarted meanwhile.
        "CONN_MAX_AGE": 300,
        "CONN_HEALTH_CHECKS": True,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["apps.accounts.sessions.People"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "accounts:sign_in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "accounts:sign_in"

# Sessions: server-side rows, so that deactivating a person ends them; nothing of the content is in the cookie.
SESSION_ENGINE = "apps.accounts.sessions"
SESSION_COOKIE_NAME = "fermata_session"
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = not env.flag("PLAIN_HTTP")
CSRF_COOKIE_NAME = "fermata_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
CSRF_FAILURE_VIEW = "apps.core.errors_pages.csrf_failure"
SECURE_SSL_REDIRECT = not env.flag("PLAIN_HTTP")
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 0 if env.flag("PLAIN_HTTP") else 31_536_000
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
if env.flag("TRUST_PROXY_HEADERS"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],  # the icon; an image in an address loads nothing and runs nothing
        "font-src": [SELF],
        "frame-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
    }
}

# The API's own limit is larger and is enforced in apps/api; pages never send this much.
DATA_UPLOAD_MAX_MEMORY_SIZE = 13 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 2000

CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": PLACES.redis_url}}

CELERY_BROKER_URL = PLACES.redis_url
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "fermata"
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A request must not hang when the broker is away: the message is a hint, the sweeper finds the row.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 2, "socket_timeout": 10, "max_retries": 1}
CELERY_TASK_PUBLISH_RETRY = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "apps.pipeline.tasks.sweep", "schedule": 5.0, "options": {"expires": 5.0}},
    "outbox": {"task": "apps.outbox.tasks.send", "schedule": 5.0, "options": {"expires": 5.0}},
    "old_events": {"task": "apps.outbox.tasks.sweep", "schedule": 60.0, "options": {"expires": 60.0}},
    "deliveries": {
        "task": "apps.sources.tasks.work_off_deliveries",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "old_deliveries": {
        "task": "apps.sources.tasks.sweep_deliveries",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "exports": {"task": "apps.api.tasks.make_exports", "schedule": 30.0, "options": {"expires": 30.0}},
    "uploads": {
        "task": "apps.sources.tasks.work_on_uploads",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "mailboxes": {
        "task": "apps.sources.tasks.look_at_mailboxes",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "old_uploads": {
        "task": "apps.sources.tasks.sweep_uploads",
        "schedule": 600.0,
        "options": {"expires": 600.0},
    },
    "recalibrate": {
        "task": "apps.calibration.tasks.recalibrate",
        "schedule": 1800.0,
        "options": {"expires": 1800.0},
    },
    "trials": {
        "task": "apps.calibration.tasks.run_trials",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "counts": {
        "task": "apps.calibration.tasks.count_days",
        "schedule": 15.0,
        "options": {"expires": 15.0},
    },
    "alarms": {
        "task": "apps.calibration.tasks.watch_alarms",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "warnings": {
        "task": "apps.calibration.tasks.watch_warnings",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
# An image makes this folder, then collects, hashes and compresses into it; a checkout serves static/ as it lies there.
STATIC_ROOT = BASE_DIR / "staticfiles" if (BASE_DIR / "staticfiles").is_dir() else None
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = STATIC_ROOT is None
if WHITENOISE_USE_FINDERS:
    STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}

# Mail is off without a server; every part that would send says so.
EMAIL_HOST = env.text("EMAIL_HOST")
EMAIL_PORT = env.number("EMAIL_PORT", 1, 65_535)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = env.text("EMAIL_USER"), env.text("EMAIL_PASSWORD")
_email_security = env.choice("EMAIL_SECURITY", ("STARTTLS", "TLS", "NONE"))
EMAIL_USE_TLS, EMAIL_USE_SSL = _email_security == "STARTTLS", _email_security == "TLS"
EMAIL_FROM = env.text("EMAIL_FROM")
ALLOW_PRIVATE_WEBHOOKS = env.flag("ALLOW_PRIVATE_WEBHOOKS")

METRICS_TOKEN = env.text("METRICS_TOKEN")
CLOUDFLARE_API_BASE = env.text("CLOUDFLARE_API_BASE") or "https://api.cloudflare.com/client/v4"

LOG_LEVEL = env.choice("LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR"))
_log_fields: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": structlog.stdlib.ProcessorFormatter,
            "foreign_pre_chain": _log_fields,
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                # Without local variables: they hold passwords, notes and what customers write.
                structlog.processors.ExceptionRenderer(
                    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
                ),
                structlog.processors.JSONRenderer(),
            ],
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json", "stream": sys.stderr}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "httpx": {"level": "WARNING"},
        "imapclient": {"level": "WARNING"},  # at DEBUG it would write what servers say, mails included
        "django.security.DisallowedHost": {"level": "CRITICAL"},
    },
}
structlog.configure(
    processors=[*_log_fields, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
    wrapper_class=structlog.stdlib.BoundLogger,
    cache_logger_on_first_use=True,
)

if len(SECRET_KEY) < 32:
    raise ImproperlyConfigured("SECRET_KEY must have at least 32 characters.")
