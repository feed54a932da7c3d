"""Celery's broker without a server: kombu's filesystem transport, made safe for several processes.

kombu writes a message under its final name, so a reader may take it half written and lose it; and two processes that
start at once may read each other's half-written exchange table. Here a message appears whole (written aside, renamed)
and the tables are read and written under one lock. The folders are made when first needed.
"""

from __future__ import annotations

import time
import uuid
from functools import cached_property
from pathlib import Path
from typing import Any

from filelock import FileLock
from kombu.transport import filesystem, virtual
from kombu.utils.encoding import str_to_bytes
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """kombu's channel, with whole messages and locked tables."""

    def _put(self, queue: Any, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Names sort by the time of writing, also across a restart of the machine."""
        folder = Path(self.data_folder_out)
        name = f"{time.time_ns()}_{uuid.uuid4()}.{queue}.msg"
        unfinished = folder / f"{name}.part"
        try:
            unfinished.write_bytes(str_to_bytes(dumps(payload)))
        except OSError:  # no room on the disk: leave nothing half-written
            unfinished.unlink(missing_ok=True)
            raise
        unfinished.rename(folder / name)

    def get_table(self, exchange: str) -> Any:
        with self._tables_lock:
            return super().get_table(exchange)

    def _queue_bind(self, *args: Any) -> None:
        with self._tables_lock:
            super()._queue_bind(*args)

    def _delete(self, *args: Any, **kwargs: Any) -> None:
        with self._tables_lock:
            super()._delete(*args, **kwargs)

    @cached_property
    def data_folder_in(self) -> str:
        return self._made(super().data_folder_in)

    @cached_property
    def data_folder_out(self) -> str:
        return self._made(super().data_folder_out)

    @cached_property
    def _tables_lock(self) -> FileLock:
        return FileLock(Path(self._made(self.control_folder)) / ".lock", timeout=10)

    @staticmethod
    def _made(folder: str | Path) -> str:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return str(folder)


class Transport(filesystem.Transport):
    """CELERY_BROKER_TRANSPORT."""

    Channel = Channel

    def __init__(self, client: Any, **kwargs: Any) -> None:
        """Each connection makes sure of its bindings itself.

        kombu shares one memory of them between a process's threads, and enters a binding there before it is in the
        table: meanwhile another thread's messages would find no queue, and be dropped without an error.
        """
        super().__init__(client, **kwargs)
        self.state = virtual.BrokerState()
