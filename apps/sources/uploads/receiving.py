"""A file on its way in: written to the database piece by piece as the browser sends it, never whole in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile, StopUpload
from django.http import HttpRequest

from apps.accounts.models import User
from apps.core.db import fetch
from apps.core.text import repaired
from apps.pipeline import limits
from apps.sources.models import Upload
from apps.workflows.models import Workflow

_WRITE = """
    INSERT INTO sources_uploadchunk (upload_id, position, content)
    VALUES (%(upload)s, %(position)s, %(content)b) RETURNING id
"""
CHUNK_BYTES = 1024 * 1024
FIELD = "file"
CUT_OFF = "Only a part of it arrived: the connection was cut off. Nothing was taken; send the file again."
TOO_LARGE = f"It has more than {limits.MAX_IMPORT_FILE_BYTES:,} bytes, which is the limit. Nothing was taken."


class Receiver(FileUploadHandler):
    """Django's hook for a form that is being read: one upload for each file of the field `file`.

    The form is read before its CSRF token can be checked, so nothing is handed to workers here: `arrived` are
    those that came whole, and whoever checked the request goes on with them; `give_up` ends all others.
    """

    chunk_size = CHUNK_BYTES

    def __init__(
        self, request: HttpRequest, *, workflow: Workflow, user: User, now: Callable[[], datetime]
    ) -> None:
        super().__init__(request)
        self._workflow, self._user, self._now = workflow, user, now
        self._upload: Upload | None = None
        self._held = bytearray()
        self._digest = hashlib.sha256()
        self._chunks = 0
        self.arrived: list[Upload] = []
        self.refused: list[Upload] = []
        self.is_too_many = False

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        if field_name != FIELD:
            raise SkipFile
        if len(self.arrived) + len(self.refused) >= limits.MAX_UPLOADS_AT_ONCE:
            self.is_too_many = True
            raise StopUpload(connection_reset=False)
        self._upload = Upload.objects.create(
            workflow=self._workflow,
            created_by=self._user,
            file_name=repaired(file_name)[0][-255:],
            created_at=self._now(),
        )
        self._held.clear()
        self._digest, self._chunks = hashlib.sha256(), 0

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        if self._upload is None:
            return
        self._upload.size += len(raw_data)
        if self._upload.size > limits.MAX_IMPORT_FILE_BYTES:
            self._refuse(TOO_LARGE)
            raise SkipFile
        self._digest.update(raw_data)
        self._held += raw_data
        while len(self._held) >= CHUNK_BYTES:
            self._write(self._upload, CHUNK_BYTES)

    def file_complete(self, file_size: int) -> None:
        if self._upload is None:
            return
        if self._held:
            self._write(self._upload, len(self._held))
        self._upload.sha256 = self._digest.hexdigest()
        self._upload.save(update_fields=["size", "sha256"])
        self.arrived.append(self._upload)
        self._upload = None

    def upload_interrupted(self) -> None:
        self._refuse(CUT_OFF)

    def give_up(self) -> None:
        """The request was refused, or broke off: what came whole goes without a trace, the rest says why."""
        Upload.objects.filter(
            pk__in=[each.pk for each in self.arrived], status=Upload.Status.UPLOADING
        ).delete()
        self._refuse(CUT_OFF)

    def _write(self, upload: Upload, size: int) -> None:
        # The model's own insert writes the bytes into the statement, as text of twice the length.
        values = {"upload": upload.pk, "position": self._chunks, "content": bytes(self._held[:size])}
        fetch(_WRITE, values)
        del self._held[:size]
        self._chunks += 1

    def _refuse(self, why: str) -> None:
        if self._upload is None:
            return
        upload, self._upload = self._upload, None
        upload.chunks.all().delete()
        upload.status, upload.error, upload.finished_at = Upload.Status.FAILED, why, self._now()
        upload.save(update_fields=["size", "status", "error", "finished_at"])
        self.refused.append(upload)
