"""The Celery app: `celery -A apps.config worker`. Rows are the truth; a lost or doubled message costs a delay only."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "apps.config.settings")

app = Celery("fermata")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
