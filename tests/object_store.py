"""A store that speaks S3, in this process: moto's server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from ragsite.core.site_settings import SiteSettings, uploads_storage

BUCKET = "ragsite-test"


@pytest.fixture(scope="session")
def store_address() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


class Bucket:
    """The one that the site's files lie in, seen from outside."""

    def __init__(self, address: str) -> None:
        self.bucket = boto3.resource(
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id="k",
            aws_secret_access_key="s",
        ).Bucket(BUCKET)

    def make(self) -> None:
        self.bucket.create()

    def names(self) -> list[str]:
        return [found.key for found in self.bucket.objects.all()]

    def content(self, name: str) -> bytes:
        return bytes(self.bucket.Object(name).get()["Body"].read())

    def lose(self) -> None:
        """The bucket is gone, and all that was in it."""
        self.bucket.objects.delete()
        self.bucket.delete()


@pytest.fixture
def bucket(store_address: str, settings: Any) -> Iterator[Bucket]:
    """An empty bucket, where this site's uploads lie below `site/`."""
    variables = {
        "RAGSITE_UPLOADS": f"s3://{BUCKET}/site",
        "AWS_ENDPOINT_URL_S3": store_address,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
    }
    bucket = Bucket(store_address)
    bucket.make()
    settings.SITE = SiteSettings.from_env(variables)
    settings.STORAGES = {**settings.STORAGES, "default": uploads_storage(settings.SITE)}
    yield bucket
    bucket.lose()
