"""Uploaded files in a bucket of S3, or of a store that speaks its protocol. Needs the packages of the extra `s3`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from s3transfer.exceptions import RetriesExceededError
from storages.backends.s3 import S3File, S3Storage
from storages.utils import clean_name

from ragsite.core.errors import StorageFullError
from ragsite.core.uploads import UploadsAwayError

FAULTS = (ClientError, BotoCoreError, Boto3Error, RetriesExceededError)
INSUFFICIENT_STORAGE = 507  # MinIO's; Ceph has an error code for it
QUOTA_CODES = ("QuotaExceeded",)
_making = Lock()


@contextmanager
def _told() -> Iterator[None]:
    """Raises UploadsAwayError or StorageFullError for whatever boto3 raises."""
    try:
        yield
    except FAULTS as error:
        response = getattr(error, "response", {})
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if status == INSUFFICIENT_STORAGE or response.get("Error", {}).get("Code") in QUOTA_CODES:
            raise StorageFullError from error
        raise UploadsAwayError from error


class S3Uploads(S3Storage):
    """django-storages' S3, with time limits, and with errors that the rest of the site knows.

    A missing file is a FileNotFoundError only where its bucket is there.
    """

    file_overwrite = True  # names are ids of documents
    object_parameters = {
        "ContentType": "application/octet-stream"
    }  # else it is what the uploader's browser claims
    max_memory_size = 1024 * 1024  # of a file being read; the rest lies in a temporary file
    transfer_config = TransferConfig(use_threads=False)
    _shared: Any = None
    client_config = Config(
        connect_timeout=5,
        read_timeout=30,
        retries={"mode": "standard", "total_max_attempts": 3},
        # Stores other than Amazon's do not all know the newer checksums.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )

    @property
    def connection(self) -> Any:
        """One for all threads, which use its client alone: each takes a tenth of a second and 15 MB."""
        with _making:
            if self._shared is None:
                self._shared = super().connection
            return self._shared

    def _check_bucket(self) -> None:
        self.bucket.meta.client.head_bucket(Bucket=self.bucket_name)

    def _open(self, name: str, mode: str = "rb") -> S3File:
        with _told():
            try:
                file = super()._open(name, mode)
            except FileNotFoundError:
                self._check_bucket()
                raise
            return file.open()  # fetched now: what fails, fails here

    def _save(self, name: str, content: File[Any]) -> str:
        with _told():
            return str(super()._save(name, content))

    def delete(self, name: str) -> None:
        """Deleting a file that is not there succeeds, as S3 does it; 404 means that there is no bucket."""
        with _told():
            self.bucket.Object(self._normalize_name(clean_name(name))).delete()

    def exists(self, name: str) -> bool:
        with _told():
            if super().exists(name):
                return True
            self._check_bucket()
            return False
