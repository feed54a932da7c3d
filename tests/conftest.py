"""Fixtures that every app's tests share."""

from __future__ import annotations

import gc
import inspect
import logging
import shutil
import socket
import threading
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from asgiref.sync import SyncToAsync
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.cache import caches
from django.core.management.commands import flush
from django.db import connection, connections, transaction
from django.db.models import Model
from django.template import Node, engines
from django.utils import translation
from rest_framework.views import APIView

from tests.declared_shapes import check_response

hypothesis.settings.register_profile(
    "site", deadline=None
)  # a busy machine is no fault of what is tested
hypothesis.settings.load_profile("site")
pytest_plugins = [
    "tests.migrated_database",
    "tests.milvus",
    "tests.object_store",
    "tests.ollama_server",
    "tests.search_engine",
]

BROWSER = "tests/browser"
# What takes longest goes first, so that no worker is left alone with it in the end. One site serves all browser tests.
LONGEST = (
    BROWSER, "tests/test_wrong_lists.py", "tests/test_up.py", "tests/test_rolling_restart.py",
    "tests/test_revisions.py", "tests/retrieval/engine/workflows", "tests/test_settings.py",
    "tests/test_linear_time.py", "tests/test_backup.py", "tests/test_oidc.py",
)  # fmt: skip
# The contract suite: tests that come through a door that people and programs have. Names that their modules import, or
# fixtures that they take.
DOORS = {
    "Client", "APIClient", "AsyncClient", "WebsocketCommunicator", "ApplicationCommunicator", "call_command", "client",
    "site", "client_of", "api_of", "browser", "administrator",
}  # fmt: skip
OUR_TEMPLATES = str(settings.BASE_DIR / "templates")
LOOPBACK = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting 7,000 tests makes stays: looking through it again and again took a third of the time."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`-n 2`: a file's tests stay together, as do those of the browser, and files come in the order of `_place`."""
    if config.getoption("dist") != "load":
        return None  # something else was asked for
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return BROWSER if nodeid.startswith(BROWSER) else nodeid.partition("::")[0]

    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and not DOORS.isdisjoint(
            {*vars(item.module), *item.fixturenames}
        ):
            item.add_marker(pytest.mark.contract)
    if hasattr(config, "workerinput"):
        items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    file = item.nodeid.partition("::")[0]
    return next((n for n, path in enumerate(LONGEST) if file.startswith(path)), len(LONGEST))


@pytest.fixture(autouse=True)
def _only_loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise RuntimeError(f"A test tried to reach {address[0]}: only loopback is allowed.")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    yield


class _Undefined(str):
    """What Django writes for a variable that no context has. In a template of ours that is a failure: its name was
    changed on one side alone. Templates of libraries count on it; who wrote the node is found by its origin."""

    def __contains__(self, part: object) -> bool:
        return part == "%s"

    def __mod__(self, variable: object) -> str:
        frame = inspect.currentframe()
        while frame is not None:
            node = frame.f_locals.get("self")
            if isinstance(node, Node) and node.origin is not None:
                assert not node.origin.name.startswith(OUR_TEMPLATES), (
                    f"{variable} in {node.origin.name}"
                )
                break
            frame = frame.f_back
        return ""


@pytest.fixture(autouse=True, scope="session")
def _no_template_of_ours_names_what_is_not_there() -> None:
    engines["django"].engine.string_if_invalid = _Undefined("%s")


@pytest.fixture(autouse=True, scope="session")
def _the_api_sends_what_it_declares() -> None:
    finalize_response = APIView.finalize_response

    def checked(self: APIView, request: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        finalized = finalize_response(self, request, response, *args, **kwargs)
        check_response(self.request, finalized)
        return finalized

    APIView.finalize_response = checked  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_asked_of_a_model_behind_an_answer() -> None:
    """Tests count calls of models and statements; those of follow-ups switch them on."""
    settings.RAG = settings.RAG.replace(answer=settings.RAG.answer.replace(follow_ups=False))


@pytest.fixture(autouse=True)
def _caches_are_empty() -> None:
    """What limits on guessing have counted is in a cache, and all tests come from one address; what searches found is
    in another one. A process knows the site's default assistant by heart."""
    from chat.services import default_assistant

    for each in caches.all():
        each.clear()
    default_assistant.forget()


@pytest.fixture(autouse=True)
def _commands_silence_themselves_alone() -> Iterator[None]:
    """A command that a test calls in this process quiets its logging for good, as its process ends with it."""
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(autouse=True)
def _the_language_of_a_request_ends_with_its_test() -> Iterator[None]:
    """A thread keeps the language of its last request until the next one, and so would a command in the next test."""
    yield
    translation.deactivate()


@pytest.fixture(autouse=True)
def _garbage_is_collected_as_before() -> Iterator[None]:
    """A site that is warmed up in this process keeps what it has made out of the collector's sight, for good: what one
    test leaves unclosed would be found, and told, in another one."""
    before = gc.get_threshold()
    yield
    for thread in threading.enumerate():
        if thread.name == "warm-up":
            thread.join()
    if gc.get_threshold() != before:
        gc.unfreeze()
        gc.set_threshold(*before)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    tmp_path_factory: pytest.TempPathFactory,
    django_db_modify_db_settings_parallel_suffix: None,
    migrated_database: Path | None,
) -> Iterator[None]:
    """SQLite in a file, as on a real site: threads wait for its lock, where those of a shared memory database fail."""
    with pytest.MonkeyPatch.context() as patch:
        if connection.vendor == "sqlite":
            name = str(tmp_path_factory.mktemp("database") / "test.sqlite3")
            connection.settings_dict["TEST"]["NAME"] = name
        if migrated_database is not None:
            copy = partial(shutil.copy, migrated_database, name)
            patch.setattr(connection.creation, "_create_test_db", lambda *_, **__: copy())
        yield


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The flush after a test with transactions leaves what the migrations made: no test depends on who ran before it.

    Django's own makes content types and permissions anew each time, which took longer than most such tests.
    """
    made_once = {ContentType._meta.db_table, Permission._meta.db_table}
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        every = apps.get_models(include_auto_created=True)  # and which group has which permission
        models = [model for model in every if model._meta.managed and not model._meta.proxy]
        existing = connection.introspection.django_table_names(
            only_existing=True, include_views=False
        )
        tables = [table for table in existing if table not in made_once]
        rows_of = [
            _rows(cursor, model) for model in models if model._meta.db_table not in made_once
        ]
    migrated = [(statement, rows) for statement, rows in rows_of if rows]

    def sql_flush(style: Any, connection: Any, **options: Any) -> list[str]:
        emptied = tables if options.get("reset_sequences") else _filled(connection, tables)
        return connection.ops.sql_flush(style, emptied, **options)

    def put_back(*_: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement, rows in migrated:
                cursor.executemany(statement, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flush, "sql_flush", sql_flush)
        patch.setattr(flush, "emit_post_migrate_signal", put_back)
        yield
    # PostgreSQL drops no database that a thread is connected to, here the one in which async code calls the database.
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


def _rows(cursor: Any, model: type[Model]) -> tuple[str, list[Any]]:
    """What inserts the model's rows as they are now, and the rows as the database gives and takes them."""
    quoted = connection.ops.quote_name
    table, columns = (
        quoted(model._meta.db_table),
        [quoted(str(field.column)) for field in model._meta.local_concrete_fields],
    )
    names, places = ", ".join(columns), ", ".join(["%s"] * len(columns))
    cursor.execute(f"SELECT {names} FROM {table}")
    return f"INSERT INTO {table} ({names}) VALUES ({places})", cursor.fetchall()


def _filled(connection: Any, tables: list[str]) -> list[str]:
    """On SQLite, which empties one after the other, those with rows; PostgreSQL truncates those that refer to each
    other together or not at all."""
    if connection.vendor != "sqlite":
        return tables
    quoted = connection.ops.quote_name
    with connection.cursor() as cursor:
        cursor.execute(
            " UNION ALL ".join(f"SELECT EXISTS (SELECT 1 FROM {quoted(table)})" for table in tables)
        )
        return [table for table, (filled,) in zip(tables, cursor.fetchall(), strict=True) if filled]


@pytest.fixture(scope="session", autouse=True)
def _static_files_are_listed_once() -> Iterator[None]:
    """Each test client makes the middleware anew, which looks at some 220 files: half of the time of such tests."""
    from servestatic.middleware import ServeStaticMiddleware

    listed: dict[str, Any] = {}
    list_files = ServeStaticMiddleware.add_files_from_finders

    def once(self: ServeStaticMiddleware) -> None:
        if not listed:
            list_files(self)
            listed.update(files=self.files, directories=self.directories)
        self.files.update(listed["files"])
        self.directories = listed["directories"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServeStaticMiddleware, "add_files_from_finders", once)
        yield
