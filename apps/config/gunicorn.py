"""gunicorn -c apps/config/gunicorn.py apps.config.wsgi:application"""

from apps.config.env import Environment

_env = Environment()

bind = f"{_env.text('BIND')}:{_env.number('PORT', 1, 65535)}"
worker_class = "gthread"
workers = _env.number("WEB_PROCESSES", 1, 64)
threads = _env.number("WEB_THREADS", 1, 64)
timeout = 60
graceful_timeout = 10
keepalive = 5
# Bodies are bounded by the app (413); a request line or a header longer than these is nobody's browser.
limit_request_line = 8190
limit_request_field_size = 8190
accesslog = None
control_socket_disable = True
