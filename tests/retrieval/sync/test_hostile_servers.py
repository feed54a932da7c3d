"""Sources whose servers list without an end, answer without an end, or send more than they seem to."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dulwich.objects import Tree
from dulwich.repo import Repo
from rest_framework.test import APIClient

from retrieval.knowledge.sync import git, process, run
from retrieval.knowledge.sync.git import TooMuchError, check_pack
from retrieval.knowledge.sync.process import ProcessLimits
from retrieval.knowledge.sync.run import runs_waiting, source_run
from retrieval.knowledge.sync.source import Frontier, ListingCutError
from retrieval.models import Document, SyncSource
from tests.clients import api_of
from tests.factories import UserFactory
from tests.retrieval.sync.looking import (
    ADDRESS,
    commit,
    committed,
    found,
    listed,
    look,
    names,
    page,
)
from tests.web_server import Page, WebServer

pytestmark = pytest.mark.django_db(transaction=True)
TOKENS = "<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken>"


def error_of(report: run.Report) -> str:
    assert report.error is not None
    return str(report.error["error"])


def bucket(rows: str, token: int) -> Page:
    return 200, {}, f"<ListBucketResult>{rows}{TOKENS.format(token)}</ListBucketResult>".encode()


def answers(server: WebServer, answer: Callable[[str], Page]) -> None:
    """`answer` of each path, without an end."""
    server.answer = lambda method, path, headers, body: answer(path)  # type: ignore[method-assign]


# ------------------------------------------------------------------------------------------------ listings
def test_a_frontier_gives_each_place_once_and_says_that_there_were_more() -> None:
    places = Frontier(0, most=3)
    seen = []
    with pytest.raises(ListingCutError):
        for place in places:
            seen.append(place)
            places.add(place)
            places.add(place + 1)
    assert seen == [0, 1, 2]


def test_an_empty_page_of_a_bucket_that_names_another_one_ends_the_run(
    make: Any, server: WebServer
) -> None:
    numbers = itertools.count()
    answers(
        server,
        lambda path: (
            200,
            {},
            f"<ListBucketResult>{TOKENS.format(next(numbers))}</ListBucketResult>".encode(),
        ),
    )
    report = look(make("s3", f"{server.url}/bucket"))
    assert "does not come to an end" in error_of(report) and len(server.requests) == 1


def test_a_bucket_whose_listing_turns_in_a_circle_ends_the_run(
    make: Any, server: WebServer
) -> None:
    row = "<Contents><Key>a.unread</Key></Contents>"
    answers(server, lambda path: bucket(row, 0))
    report = look(make("s3", f"{server.url}/bucket"))
    assert "does not come to an end" in error_of(report) and len(server.requests) == 2


def test_hidden_names_count_as_listed(
    make: Any, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "MOST_LISTED", 50)
    numbers = itertools.count()

    def listing(path: str) -> Page:
        number = next(numbers)
        rows = "".join(f"<Contents><Key>.{number}-{n}</Key></Contents>" for n in range(20))
        return bucket(rows, number)

    answers(server, listing)
    report = look(make("s3", f"{server.url}/bucket"))
    assert "more than one run looks at" in error_of(report) and len(server.requests) == 3


def test_folders_without_an_end_and_without_a_file_end_with_the_time_of_the_run(
    make: Any, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "RUN_S", 1.0)
    answers(server, lambda path: listed(path, "", "deeper/"))
    report = look(make("webdav", f"{server.url}/dav"))
    assert "took too long" in error_of(report) and len(server.requests) > 1


def test_a_sitemap_that_names_ever_other_ones_ends(make: Any, server: WebServer) -> None:
    numbers = itertools.count()

    def sitemap(path: str) -> Page:
        if path == "/robots.txt":
            return 404, {}, b""
        entry = f"<sitemap><loc>{server.url}/{next(numbers)}.xml</loc></sitemap>"
        return 200, {}, f"<sitemapindex>{entry}</sitemapindex>".encode()

    answers(server, sitemap)
    report = look(make("web", f"{server.url}/sitemap.xml"))
    assert "more than one run looks at" in error_of(report) and len(server.requests) == 51


def test_pages_that_name_ever_other_ones_are_read_up_to_the_bound(
    make: Any, server: WebServer
) -> None:
    numbers = itertools.count()

    def endless(path: str) -> Page:
        links = "".join(f'<a href="/docs/{next(numbers)}">more</a>' for _ in range(5))
        return (404, {}, b"") if path == "/robots.txt" else page(f"Page {path}", links)

    answers(server, endless)
    report = look(make("web", f"{server.url}/docs/", depth=5, most_pages=7))
    assert found(report) == {"added": 7} and "more pages than the 7" in error_of(report)


@pytest.mark.parametrize("told", ["²", "9" * 5000, "-1", "many", ""])
def test_a_size_that_is_no_number_is_unknown(make: Any, server: WebServer, told: str) -> None:
    size = (
        f"<d:propstat><d:prop><d:getcontentlength>{told}</d:getcontentlength></d:prop></d:propstat>"
    )
    listing = f'<d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/a.md</d:href>{size}</d:response></d:multistatus>'
    server.pages |= {"/dav/": (207, {}, listing.encode()), "/dav/a.md": (200, {}, b"# A")}
    assert found(look(make("webdav", f"{server.url}/dav"))) == {"added": 1}


# ------------------------------------------------------------------------------------------------ ending a run
@pytest.mark.parametrize("end", ["delete", "stop", "pause"])
def test_a_run_whose_server_hangs_ends_when_its_source_is_deleted_stopped_or_paused(
    make: Any, server: WebServer, api: APIClient, end: str
) -> None:
    source = make("s3", f"{server.url}/bucket", every_hours=1)
    calls = {
        "delete": lambda: api.delete(f"{ADDRESS}/{source}"),
        "stop": lambda: api.post(f"{ADDRESS}/{source}/stop"),
        "pause": lambda: api.patch(f"{ADDRESS}/{source}", {"every_hours": 0}, format="json"),
    }

    def answer(path: str) -> Page:
        assert calls[end]().status_code < 300
        server._ended.wait(30)  # longer than the client waits
        return 200, {}, b""

    answers(server, answer)
    assert source_run(source_id=source) is None
    rows = SyncSource.objects.filter(pk=source)
    assert [row.lease_token for row in rows] == [None] * (end != "delete")


def test_a_run_that_was_stopped_says_so(
    make: Any, tmp_path: Path, api: APIClient, monkeypatch: Any
) -> None:
    (tmp_path / "files" / "a.md").write_text("A.")
    source = make("folder", tmp_path / "files")
    look(source)
    monkeypatch.setattr(run, "RENEWED_EVERY_S", -1.0)
    put = run.document_put

    def put_and_stop(**values: Any) -> Any:
        done = put(**values)
        told = api.post(f"{ADDRESS}/{source}/stop").json()
        assert told["report"]["error"] == "The run was stopped." and not told["running"]
        return done

    monkeypatch.setattr(run, "document_put", put_and_stop)
    for name in ("b.md", "c.md"):
        (tmp_path / "files" / name).write_text(f"This is {name}.")
    assert source_run(source_id=source) is None and names() == ["a.md", "b.md"]


def test_one_run_of_a_user_at_once_and_the_next_one_in_its_turn(
    make: Any, tmp_path: Path, queue: list[Any], monkeypatch: Any
) -> None:
    (tmp_path / "files" / "a.md").write_text("A.")
    first, second = (make("folder", tmp_path / "files", collection=name) for name in ("one", "two"))
    put = run.document_put

    def put_while_others_ask(**values: Any) -> Any:
        assert source_run(source_id=second, dry_run=True) is None  # it waits
        assert source_run(source_id=first) is None  # its own run is under way
        return put(**values)

    monkeypatch.setattr(run, "document_put", put_while_others_ask)
    assert found(look(first)) == {"added": 1}
    assert queue[-1] == (run.TASK, second, True)
    assert [str(row.pk) for row in runs_waiting()] == [second]
    monkeypatch.setattr(run, "document_put", put)
    look(second, dry_run=True)
    assert not runs_waiting()


def test_users_do_not_wait_for_each_other(make: Any, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "files" / "a.md").write_text("A.")
    mine, put = make("folder", tmp_path / "files"), run.document_put
    other = UserFactory(is_staff=True)
    values = {
        "name": "x",
        "kind": "folder",
        "address": str(tmp_path / "files"),
        "collection": "theirs",
    }
    theirs = api_of(other).post(ADDRESS, values, format="json").json()["id"]
    monkeypatch.setattr(
        run, "document_put", lambda **rest: (look(theirs, dry_run=True), put(**rest))[1]
    )
    assert found(look(mine)) == {"added": 1}
    assert SyncSource.objects.get(pk=theirs).report["added"] == 1


# ------------------------------------------------------------------------------------------------ packs
def pack_of(*objects: tuple[int, int, bytes]) -> bytes:
    """kind, declared size, what follows it."""
    body = b""
    for kind, size, rest in objects:
        first, size = (kind << 4) | (size & 15), size >> 4
        body += bytes([first | 0x80 if size else first]) + (varint(size) if size else b"") + rest
    return b"PACK" + (2).to_bytes(4, "big") + len(objects).to_bytes(4, "big") + body + b"\0" * 20


def varint(number: int) -> bytes:
    made = b""
    while number > 0x7F:
        made += bytes([0x80 | (number & 0x7F)])
        number >>= 7
    return made + bytes([number])


@pytest.fixture
def checked(tmp_path: Path) -> Callable[[bytes], None]:
    def check(pack: bytes) -> None:
        (tmp_path / "a.pack").write_bytes(pack)
        with (tmp_path / "a.pack").open("rb") as file:
            check_pack(file.fileno())

    return check


DELTA = varint(3) + varint(3 << 30) + b"\x90\x03"


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([(3, 3 << 30, zlib.compress(b"x"))], id="an object that declares 3 GiB"),
        pytest.param(
            [(3, 10, zlib.compress(bytes(1 << 20)))],
            id="an object that holds more than it declares",
        ),
        pytest.param(
            [(6, len(DELTA), b"\x01" + zlib.compress(DELTA))], id="a delta that makes 3 GiB"
        ),
        pytest.param(
            [(7, len(DELTA), bytes(20) + zlib.compress(DELTA))],
            id="a delta of a named base that makes 3 GiB",
        ),
    ],
)
def test_a_pack_that_holds_too_much_is_refused_before_it_is_unpacked(
    checked: Callable[[bytes], None], objects: list[tuple[int, int, bytes]]
) -> None:
    with pytest.raises(TooMuchError):
        checked(pack_of((3, 3, zlib.compress(b"abc")), *objects))


def test_objects_are_bounded_in_number_and_all_together(
    checked: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    three = pack_of(*[(3, 1000, zlib.compress(bytes(1000)))] * 3)
    checked(three)
    monkeypatch.setattr(git, "MOST_INFLATED", 2500)
    with pytest.raises(TooMuchError):
        checked(three)
    monkeypatch.setattr(git, "MOST_INFLATED", 3000)
    monkeypatch.setattr(git, "MOST_OBJECTS", 2)
    with pytest.raises(TooMuchError):
        checked(three)


@pytest.mark.parametrize(
    "pack",
    [
        b"",
        b"PACK",
        b"<html>",
        pack_of((3, 9, b"xyz")),
        pack_of((3, 3, zlib.compress(b"abc")))[:-24],
    ],
)
def test_a_damaged_pack_is_told_apart(checked: Callable[[bytes], None], pack: bytes) -> None:
    with pytest.raises((ValueError, IndexError, zlib.error)):
        checked(pack)


def test_a_repository_whose_files_inflate_to_too_much_ends_the_run(
    make: Any, repository: tuple[Repo, str], monkeypatch: pytest.MonkeyPatch, in_this_process: None
) -> None:
    repo, url = repository
    commit(repo, {"a.md": (0o100644, b"# A"), "zeros.txt": (0o100644, bytes(2 << 20))})
    monkeypatch.setattr(git, "MOST_OBJECT_BYTES", 1 << 20)
    assert (
        "larger than the site allows" in error_of(look(make("git", url)))
        and not Document.objects.exists()
    )


def test_what_a_repository_sends_is_counted(
    make: Any, repository: tuple[Repo, str], monkeypatch: pytest.MonkeyPatch, in_this_process: None
) -> None:
    repo, url = repository
    commit(repo, {"a.md": (0o100644, b"# A")})
    monkeypatch.setattr(git, "MOST_RECEIVED", 100)
    assert "larger than the site allows" in error_of(look(make("git", url)))


def test_a_repository_that_needs_more_memory_than_is_allowed_takes_only_its_process_along(
    make: Any, repository: tuple[Repo, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo, url = repository
    commit(repo, {"a.md": (0o100644, b"# A")})
    monkeypatch.setattr(process, "LIMITS", ProcessLimits(memory_mib=16))
    assert "more memory" in error_of(look(make("git", url)))
    monkeypatch.setattr(process, "LIMITS", ProcessLimits())
    assert found(look(SyncSource.objects.get().pk)) == {"added": 1}


def test_folders_that_hold_each_other_a_million_times_end_the_run(
    make: Any, repository: tuple[Repo, str], monkeypatch: pytest.MonkeyPatch, in_this_process: None
) -> None:
    repo, url = repository
    monkeypatch.setattr(git, "MOST_TREE_ITEMS", 1000)
    tree = Tree()
    repo.object_store.add_object(tree)
    for _ in range(20):
        above = Tree()
        for name in (b"a", b"b"):
            above.add(name, 0o040000, tree.id)
        repo.object_store.add_object(above)
        tree = above
    committed(repo, tree)
    assert "more than one run looks at" in error_of(look(make("git", url)))


# ------------------------------------------------------------------------------------------------ credentials
@pytest.mark.parametrize(
    ("address", "is_kept"),
    [
        ("https://s3.example.org/other/place", True),
        ("https://S3.example.org:443/bucket", True),
        ("https://s3.example.org:8443/bucket", False),
        ("https://evil.example/bucket", False),
        ("http://s3.example.org/bucket", False),
    ],
)
def test_credentials_stay_with_their_server(
    make: Any, api: APIClient, address: str, is_kept: bool
) -> None:
    source = make("s3", "https://s3.example.org/bucket", username="key", password="hunter2")
    told = api.patch(f"{ADDRESS}/{source}", {"address": address}, format="json").json()
    assert told["has_credentials"] is is_kept and bool(told["notice"]) is not is_kept
    back = api.patch(
        f"{ADDRESS}/{source}", {"address": "https://s3.example.org/bucket"}, format="json"
    ).json()
    assert back["has_credentials"] is is_kept and not back["notice"]


def test_credentials_that_come_with_the_new_address_are_stored(make: Any, api: APIClient) -> None:
    source = make("s3", "https://s3.example.org/bucket", username="key", password="hunter2")
    body = {"address": "https://s3.example.com/bucket", "username": "other", "password": "new"}
    told = api.patch(f"{ADDRESS}/{source}", body, format="json").json()
    assert told["has_credentials"] and told["notice"] == ""


def test_credentials_do_not_go_to_another_server_that_a_listing_names(
    make: Any, server: WebServer
) -> None:
    with WebServer() as other:
        other.pages["/dav/b.md"] = (200, {}, b"# B")
        foreign = f"{server.url}//127.0.0.1:{other.port}/dav/b.md"
        server.pages |= {
            "/dav/": listed("", "/dav/", "/dav/a.md", foreign),
            "/dav/a.md": (200, {}, b"# A"),
        }
        look(make("webdav", f"{server.url}/dav", username="me", password="pw"))
        assert ["Authorization" in headers for _, _, headers, _ in server.requests] == [True, True]
        assert ["Authorization" in headers for _, _, headers, _ in other.requests] == [False]


def test_credentials_go_unencrypted_only_to_a_host_that_the_operator_names(
    make: Any, api: APIClient, server: WebServer, settings: Any
) -> None:
    body = {
        "name": "x",
        "kind": "webdav",
        "collection": "synced",
        "address": "http://dav.example.org/",
        "username": "me",
    }
    assert list(api.post(ADDRESS, body, format="json").json()["error"]["fields"]) == ["address"]
    source = make("webdav", f"{server.url}/dav", username="me", password="pw")
    settings.SITE = settings.SITE.model_copy(update={"inner_hosts": []})
    assert "https://" in error_of(look(source)) and not server.requests
