"""Sources that are kept in step: each kind, what is deleted and what never is, and abuse."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django_celery_beat.models import PeriodicTask
from dulwich.repo import Repo
from rest_framework.test import APIClient

from ragsite.accounts.tokens import key_create
from ragsite.core.errors import AppError
from retrieval.knowledge.sync import run, web
from retrieval.knowledge.sync.folder import FolderSource
from retrieval.knowledge.sync.run import source_run
from retrieval.knowledge.sync.s3 import S3Source
from retrieval.knowledge.sync.source import SourceEntry
from retrieval.models import Document, DocumentKey, IngestJob, SyncSource
from tests.clients import api_of
from tests.factories import UserFactory
from tests.retrieval.sync.looking import ADDRESS, commit, found, listed, look, names, page
from tests.web_server import Page, WebServer

pytestmark = pytest.mark.django_db(transaction=True)


# ------------------------------------------------------------------------------------------------ a folder
def test_a_folder_is_followed_and_what_is_gone_at_two_looks_is_deleted(
    make: Any, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    (files / "sub").mkdir()
    for name in ("a.md", "sub/b.txt", "sound.mp3", ".hidden.md"):
        (files / name).write_text(f"This is {name}.")
    source = make("folder", files)
    assert (
        found(look(source, dry_run=True)) == {"added": 2, "skipped": 1}
        and not Document.objects.exists()
    )
    assert found(look(source)) == {"added": 2, "skipped": 1} and names() == ["a.md", "b.txt"]
    jobs = IngestJob.objects.count()
    assert (
        found(look(source)) == {"unchanged": 2, "skipped": 1} and IngestJob.objects.count() == jobs
    )
    (files / "a.md").write_text("Now it is another one.")
    (files / "sub" / "b.txt").unlink()
    assert found(look(source)) == {"changed": 1, "missing": 1, "skipped": 1}
    assert found(look(source, dry_run=True))["deleted"] == 1 and "b.txt" in names()
    assert found(look(source)) == {"unchanged": 1, "deleted": 1, "skipped": 1} and names() == [
        "a.md"
    ]


def test_what_was_missing_once_and_is_there_again_stays(make: Any, tmp_path: Path) -> None:
    for name in ("a.md", "b.md"):
        (tmp_path / "files" / name).write_text(name)
    source = make("folder", tmp_path / "files")
    look(source)
    for there in (False, True, False):
        (tmp_path / "files" / "b.md").rename(tmp_path / "b.md") if not there else (
            tmp_path / "b.md"
        ).rename(tmp_path / "files" / "b.md")
        assert "deleted" not in found(look(source))
    assert names() == ["a.md", "b.md"]


def test_a_folder_that_is_away_or_suddenly_empty_deletes_nothing(make: Any, tmp_path: Path) -> None:
    files = tmp_path / "files" / "mounted"
    files.mkdir()
    (files / "a.md").write_text("A.")
    source = make("folder", files)
    look(source)
    files.rename(tmp_path / "files" / "unmounted")
    for _ in range(2):
        assert "mounted?" in look(source).error["error"]  # type: ignore[index]
    files.mkdir()
    for _ in range(2):
        assert "lists nothing" in look(source).error["error"]  # type: ignore[index]
    assert names() == ["a.md"] and DocumentKey.objects.get().missing_since is None


def test_what_cannot_be_looked_at_is_not_taken_for_gone(
    make: Any, tmp_path: Path, monkeypatch: Any, in_this_process: None
) -> None:
    files = tmp_path / "files"
    (files / "sub").mkdir()
    for name in ("a.md", "locked.md", "sub/b.md", "gone.md"):
        (files / name).write_text(f"This is {name}.")
    source, scandir, lstat = make("folder", files), os.scandir, Path.lstat
    look(source)

    def refuse(place: Any, inner: Callable[[Any], Any]) -> Any:
        if Path(place).name in ("locked.md", "sub"):
            raise PermissionError(13, "no", str(place))
        return inner(place)

    monkeypatch.setattr(os, "scandir", lambda place: refuse(place, scandir))
    monkeypatch.setattr(Path, "lstat", lambda place: refuse(place, lstat))
    (files / "z.md").write_text("New.")
    (files / "gone.md").unlink()
    for expected in ({"added": 1, "unchanged": 1, "missing": 1}, {"unchanged": 2, "deleted": 1}):
        report = look(source)
        assert found(report) == expected | {"failed": 1}
        assert report.error["error"].endswith(": sub")  # type: ignore[index]
    assert names() == ["a.md", "b.md", "locked.md", "z.md"]
    for name in ("a.md", "locked.md", "z.md"):
        (files / name).unlink()
    for _ in range(2):
        assert "lists nothing" in look(source).error["error"]  # type: ignore[index]


def test_no_link_leads_out_of_a_folder(make: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "files" / "a.md").write_text("A.")
    os.symlink(tmp_path / "secret.md", tmp_path / "files" / "link.md")
    os.symlink(tmp_path, tmp_path / "files" / "up")
    look(make("folder", tmp_path / "files"))
    assert names() == ["a.md"]


def test_what_has_become_a_link_since_it_was_listed_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    source = FolderSource(address=str(tmp_path / "files"))
    (tmp_path / "files" / "sub").symlink_to(tmp_path)
    (tmp_path / "files" / "link.md").symlink_to(tmp_path / "secret.md")
    for key in ("sub/secret.md", "link.md", "../secret.md"):
        with pytest.raises(AppError):
            source.read(SourceEntry(key, name="secret.md"), 1000)


def test_only_staff_name_folders_and_only_below_those_of_the_operator(
    api: APIClient, tmp_path: Path
) -> None:
    body = {
        "name": "x",
        "kind": "folder",
        "collection": "synced",
        "address": str(tmp_path / "files" / ".." / "other"),
    }
    assert list(api.post(ADDRESS, body, format="json").json()["error"]["fields"]) == ["address"]
    body["address"] = str(tmp_path / "files")
    assert api_of(UserFactory()).post(ADDRESS, body, format="json").status_code == 403


def test_a_run_is_bounded_and_the_next_one_goes_on(
    make: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    for n in range(5):
        (tmp_path / "files" / f"{n}.md").write_text(f"{n} books.")
    monkeypatch.setattr(run, "MOST_READ", 3)
    source = make("folder", tmp_path / "files")
    assert found(look(source)) == {"added": 3, "left": 2}
    assert found(look(source)) == {"added": 2, "unchanged": 3}


def test_what_cannot_be_taken_in_is_told_and_not_read_again(
    make: Any, tmp_path: Path, api: APIClient
) -> None:
    (tmp_path / "files" / "a.md").write_bytes(b"\x89PNG\r\n\x1a\n")
    source = make("folder", tmp_path / "files")
    assert found(look(source)) == {"failed": 1}
    told = api.get(f"{ADDRESS}/{source}").json()["report"]
    assert told["errors"] == [
        {"key": "a.md", "error": "This is a program, picture, sound or archive, not a document."}
    ]
    assert found(look(source)) == {"unchanged": 1}


def test_a_source_that_is_deleted_while_it_runs_brings_nothing_more(
    make: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    for n in range(5):
        (tmp_path / "files" / f"{n}.md").write_text(f"{n} books.")
    source, put = make("folder", tmp_path / "files"), run.document_put

    def put_then_delete(**values: Any) -> Any:
        done = put(**values)
        if values["key"] == "1.md":
            SyncSource.objects.all().delete()
        return done

    monkeypatch.setattr(run, "document_put", put_then_delete)
    assert source_run(source_id=source) is None
    assert (
        names() == ["0.md", "1.md"]
        and not DocumentKey.objects.exists()
        and not PeriodicTask.objects.filter(task="retrieval.tasks.sync_source_run")
    )


def test_an_owner_who_may_not_change_the_collection_any_more_brings_nothing(
    make: Any, tmp_path: Path, owner: User
) -> None:
    (tmp_path / "files" / "a.md").write_text("A.")
    source = make("folder", tmp_path / "files")
    User.objects.filter(pk=owner.pk).update(is_staff=False)
    assert look(source).error and not Document.objects.exists()


# ------------------------------------------------------------------------------------------------ the web
def test_pages_are_followed_within_their_path_depth_and_robots(
    make: Any, server: WebServer
) -> None:
    links = '<a href="b.html#x">b</a><a href="/docs/no.html">n</a><a href="/else/">e</a><a href="http://x.example/">x</a>'
    server.pages |= {
        "/robots.txt": (200, {}, b"User-agent: *\nDisallow: /docs/no.html"),
        "/docs/": page("Loans", links),
        "/docs/b.html": page("Fees", '<a href="c.html">c</a>'),
        "/docs/c.html": page("Deep"),
        "/docs/no.html": page("Forbidden"),
        "/else/": page("Else"),
    }
    server.pages["/docs/b.html"][1]["ETag"] = '"v1"'
    source = make("web", f"{server.url}/docs/", depth=1)
    assert found(look(source)) == {"added": 2}
    with Document.objects.get(file_name="b.md").file.open("rb") as file:
        text = file.read().decode()
    assert text.startswith("# Fees") and "Menu" not in text
    server.requests.clear()
    assert found(look(source)) == {"unchanged": 2}
    asked = {path: headers.get("If-None-Match") for _, path, headers, _ in server.requests}
    assert asked == {"/robots.txt": None, "/docs/": None, "/docs/b.html": '"v1"'}


def test_a_page_that_fails_for_now_is_not_taken_for_gone(make: Any, server: WebServer) -> None:
    server.pages |= {
        "/docs/": page("Loans", '<a href="b.html">b</a>'),
        "/docs/b.html": page("Fees"),
    }
    source = make("web", f"{server.url}/docs/")
    look(source)
    server.pages["/docs/b.html"] = (503, {}, b"")
    assert [found(look(source)) for _ in range(2)] == [{"unchanged": 1, "failed": 1}] * 2
    del server.pages["/docs/b.html"]
    assert [found(look(source)) for _ in range(2)] == [
        {"unchanged": 1, "missing": 1},
        {"unchanged": 1, "deleted": 1},
    ]


def test_what_a_failing_page_leads_to_is_not_taken_for_gone(make: Any, server: WebServer) -> None:
    server.pages |= {
        "/docs/": page("Loans", '<a href="b.html">b</a>'),
        "/docs/b.html": page("Fees", '<a href="c.html">c</a>'),
        "/docs/c.html": page("Deep"),
    }
    source = make("web", f"{server.url}/docs/", depth=2)
    assert found(look(source)) == {"added": 3}
    server.pages["/docs/b.html"] = (503, {}, b"")
    assert [found(look(source)) for _ in range(2)] == [{"unchanged": 1, "failed": 1}] * 2


def test_what_is_missing_of_half_a_sitemap_is_not_taken_for_gone(
    make: Any, server: WebServer
) -> None:
    urls = [f"<url><loc>{server.url}/p{n}</loc></url>" for n in range(2)]
    server.pages |= {f"/p{n}": page(f"Page {n}") for n in range(2)}
    server.pages["/sitemap.xml"] = (200, {}, f"<urlset>{''.join(urls)}</urlset>".encode())
    source = make("web", f"{server.url}/sitemap.xml")
    assert found(look(source)) == {"added": 2}
    server.pages["/sitemap.xml"] = (200, {}, f"<urlset>{urls[0]}<url><lo".encode())
    for _ in range(2):
        report = look(source)
        assert report.error and found(report) == {"unchanged": 1}


def test_a_sitemap_of_a_million_lines_is_read_up_to_the_bound(
    make: Any, server: WebServer, monkeypatch: pytest.MonkeyPatch, in_this_process: None
) -> None:
    line = f"<url><loc>{server.url}/p%d</loc><lastmod>2026-01-01</lastmod></url>\n"
    body = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>" + "".join(
        line % n for n in range(1_000_000)
    )
    server.pages["/sitemap.xml"] = (200, {}, body.encode())
    server.pages |= {f"/p{n}": page(f"Page {n}") for n in range(3)}
    source = make("web", f"{server.url}/sitemap.xml", most_pages=3)
    report = look(source)
    assert found(report) == {"added": 3} and "more pages than the 3" in report.error["error"]  # type: ignore[index]
    server.requests.clear()
    assert (
        found(look(source)) == {"unchanged": 3} and len(server.requests) == 2
    )  # no page with the same day
    monkeypatch.setattr(web, "SITEMAP_BYTES", 5000)
    SyncSource.objects.update(options={"most_pages": 2000})
    report = look(source)  # cut off in the middle: what stands behind is not gone
    assert "missing" not in found(report) and report.error


# ------------------------------------------------------------------------------------------------ Git
def test_a_repository_is_read_without_a_checkout_and_its_links_lead_nowhere(
    make: Any, repository: tuple[Repo, str]
) -> None:
    repo, url = repository
    files = {
        "a.md": (0o100644, b"# A"),
        "out.md": (0o120000, b"../../../etc/passwd"),
        "x.md": (0o100755, b"# X"),
    }
    commit(repo, files)
    source = make("git", url)
    assert found(look(source)) == {"added": 2} and names() == ["a.md", "x.md"]
    assert found(look(source)) == {"unchanged": 2}
    commit(repo, {"a.md": (0o100644, b"# A, changed")})
    assert found(look(source)) == {"changed": 1, "missing": 1}
    assert found(look(source)) == {
        "unchanged": 1,
        "deleted": 1,
    }  # the commit is the same: its second look


def test_a_repository_that_is_not_there_is_told(make: Any, server: WebServer) -> None:
    assert "cannot be read" in look(make("git", f"{server.url}/none.git")).error["error"]  # type: ignore[index]


# ------------------------------------------------------------------------------------------------ S3 and WebDAV
def test_a_request_is_signed_as_amazon_documents_it() -> None:
    """Authenticating Requests: GET Bucket (List Objects)."""
    keys = {
        "username": "AKIAIOSFODNN7EXAMPLE",
        "password": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    }
    headers = S3Source("https://x/y", {}, keys)._signed(
        "examplebucket.s3.amazonaws.com",
        "/",
        "max-keys=2&prefix=J",
        datetime(2013, 5, 24, tzinfo=UTC),
    )
    assert headers["Authorization"].endswith(
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
    )


def listing(*keys: str, token: str = "") -> Page:
    rows = "".join(
        f"<Contents><Key>{key}</Key><ETag>&quot;1&quot;</ETag><Size>3</Size></Contents>"
        for key in keys
    )
    more = (
        f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
        if token
        else ""
    )
    return 200, {}, f'<ListBucketResult xmlns="http://s3/">{rows}{more}</ListBucketResult>'.encode()


def test_a_bucket_is_listed_page_by_page_below_its_prefix(make: Any, server: WebServer) -> None:
    server.pages |= {
        "/bucket?list-type=2&prefix=docs%2F": listing("docs/a b.md", "docs/", token="t"),
        "/bucket?continuation-token=t&list-type=2&prefix=docs%2F": listing("docs/b.md"),
        "/bucket/docs/a%20b.md": (200, {}, b"# A"),
        "/bucket/docs/b.md": (200, {}, b"# B"),
    }
    source = make("s3", f"{server.url}/bucket/docs/", username="key", password="secret")
    assert found(look(source)) == {"added": 2}
    assert all(
        headers["Authorization"].startswith("AWS4-HMAC-SHA256 Credential=key/")
        for *_, headers, _ in server.requests
    )
    assert found(look(source)) == {"unchanged": 2}


@pytest.mark.parametrize(
    "body",
    [
        b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        b"<Error><Code>Slow</Code></Error>",
    ],
)
def test_a_listing_that_breaks_off_deletes_nothing(
    make: Any, server: WebServer, body: bytes
) -> None:
    more = "/bucket?continuation-token=t&list-type=2&prefix="
    server.pages |= {
        "/bucket?list-type=2&prefix=": listing("a.md", token="t"),
        more: listing("b.md"),
    }
    server.pages |= {"/bucket/a.md": (200, {}, b"# A"), "/bucket/b.md": (200, {}, b"# B")}
    source = make("s3", f"{server.url}/bucket")
    assert found(look(source)) == {"added": 2}
    server.pages[more] = (200, {}, body)
    assert [found(look(source)) for _ in range(2)] == [{"unchanged": 1}] * 2


def test_a_store_that_hangs_is_given_up_and_deletes_nothing(
    make: Any, server: WebServer, monkeypatch: pytest.MonkeyPatch, in_this_process: None
) -> None:
    server.pages |= {
        "/bucket?list-type=2&prefix=": listing("a.md"),
        "/bucket/a.md": (200, {}, b"# A"),
    }
    source = make("s3", f"{server.url}/bucket")
    look(source)
    monkeypatch.setattr("ragsite.core.outgoing.READ_S", 0.3)
    server.hangs = True
    for _ in range(2):
        assert "does not answer" in look(source).error["error"]  # type: ignore[index]
    assert names() == ["a.md"]


def test_names_with_escapes_and_a_folder_that_is_refused(make: Any, server: WebServer) -> None:
    folder = "/dav/me@home/"  # as the server writes it
    server.pages |= {
        "/dav/me%40home/": listed(folder, "", "a@b.md", "c%2540d.md", "%E4.md", "sub/"),
        f"{folder}sub/": listed(f"{folder}sub/", "", "e.md"),
        **{
            f"{folder}{name}": (200, {}, name.encode())
            for name in ("a@b.md", "c%2540d.md", "%E4.md", "sub/e.md")
        },
    }
    source = make("webdav", f"{server.url}/dav/me%40home")
    assert found(look(source)) == {"added": 4} and found(look(source)) == {"unchanged": 4}
    keys = DocumentKey.objects.values_list("key", "document__size_bytes")
    assert {"a@b.md": 6, "c%40d.md": 10, "sub/e.md": 8}.items() <= dict(keys).items()
    server.pages[f"{folder}sub/"] = (403, {}, b"")
    for _ in range(2):
        report = look(source)
        assert report.error["error"].endswith(": sub") and found(report) == {"unchanged": 3}  # type: ignore[index]
    assert DocumentKey.objects.count() == 4


def test_a_webdav_folder_is_walked(make: Any, server: WebServer) -> None:
    server.pages |= {
        "/dav/": listed("/dav/", "", "a%20b.md", "sub/", "../out.md"),
        "/dav/sub/": listed("/dav/sub/", "", "c.md"),
        "/dav/a%20b.md": (200, {}, b"# A"),
        "/dav/sub/c.md": (200, {}, b"# C"),
    }
    answer = server.answer
    server.answer = lambda method, path, headers, body: (  # type: ignore[method-assign]
        answer(method, path, headers, body)
        if headers.get("Authorization") == "Basic bWU6cHc="
        else (401, {}, b"")
    )
    source = make("webdav", f"{server.url}/dav", username="me", password="pw")
    report = look(source)
    assert report.error is None and found(report) == {"added": 2}
    assert sorted(DocumentKey.objects.values_list("key", flat=True)) == ["a b.md", "sub/c.md"]


# ------------------------------------------------------------------------------------------------ rows
def test_credentials_are_encrypted_and_never_told(make: Any, api: APIClient) -> None:
    source = make("s3", "https://s3.example.org/bucket", username="key", password="hunter2")
    row = SyncSource.objects.get(pk=source)
    told = api.get(f"{ADDRESS}/{source}").json()
    assert told["has_credentials"] and "hunter2" not in json.dumps(told) + row.credentials
    assert not api.patch(
        f"{ADDRESS}/{source}", {"username": "", "password": ""}, format="json"
    ).json()["has_credentials"]


def test_the_schedule_is_a_row_of_beat(make: Any, api: APIClient, queue: list[Any]) -> None:
    source = make("s3", "https://s3.example.org/bucket", every_hours=6)
    task = PeriodicTask.objects.get(task="retrieval.tasks.sync_source_run")
    assert (task.enabled, task.interval.every, json.loads(task.args)) == (True, 6, [source])
    api.patch(f"{ADDRESS}/{source}", {"every_hours": 0}, format="json")
    task.refresh_from_db()
    assert not task.enabled
    assert api.post(f"{ADDRESS}/{source}/run", {"dry_run": True}, format="json").status_code == 202
    assert queue == [("retrieval.tasks.sync_source_run", source, True)]
    assert (
        api.delete(f"{ADDRESS}/{source}").status_code == 204
        and not PeriodicTask.objects.filter(pk=task.pk).exists()
    )


def test_a_source_is_its_owners_alone(make: Any) -> None:
    source, client = make("s3", "https://s3.example.org/bucket"), api_of(UserFactory(is_staff=True))
    assert client.get(ADDRESS).json()["count"] == 0
    for call in (client.get, client.patch, client.delete):
        assert call(f"{ADDRESS}/{source}").status_code == 404
    assert client.post(f"{ADDRESS}/{source}/run").status_code == 404


def test_a_key_that_is_bound_to_collections_sees_the_sources_of_these(
    make: Any, owner: User
) -> None:
    other, bound = (
        make("s3", "https://s3.example.org/bucket", collection=name) for name in ("other", "bound")
    )
    ids = [str(SyncSource.objects.get(pk=bound).collection_id)]
    _, key = key_create(user=owner, name="x", scopes=["read", "write"], collection_ids=ids)
    client = APIClient(headers={"Authorization": f"Bearer {key}"})
    assert [row["id"] for row in client.get(ADDRESS).json()["results"]] == [bound]
    for call in (client.get, client.patch, client.delete):
        assert call(f"{ADDRESS}/{other}").status_code == 404
    assert client.delete(f"{ADDRESS}/{bound}").status_code == 204


@pytest.mark.parametrize(
    "address",
    [
        "ftp://x/y",
        "file:///etc",
        "https://me:pw@x.example/",
        "nonsense",
        "http://[",
        "https://x:0/",
    ],
)
def test_an_address_that_is_none_is_refused(api: APIClient, address: str) -> None:
    body = {"name": "x", "kind": "webdav", "collection": "synced", "address": address}
    assert list(api.post(ADDRESS, body, format="json").json()["error"]["fields"]) == ["address"]


def test_the_page_makes_runs_and_deletes_a_source(
    client: Client, owner: User, queue: list[Any]
) -> None:
    client.force_login(owner)
    form = {
        "kind": "s3",
        "name": "Store",
        "address": "nonsense",
        "collection": "synced",
        "every_hours": "24",
    }
    assert "Give an address" in client.post("/documents/sources/", form).content.decode()
    client.post(
        "/documents/sources/",
        {**form, "address": "https://s3.example.org/bucket", "owner": "5", "row": "x"},
    )
    row = SyncSource.objects.get()
    assert "https://s3.example.org/bucket" in client.get("/documents/sources/").content.decode()
    client.post(f"/documents/sources/{row.pk}/", {"action": "dry_run"})
    assert queue[-1] == ("retrieval.tasks.sync_source_run", str(row.pk), True)
    client.force_login(UserFactory())
    assert client.post(f"/documents/sources/{row.pk}/", {"action": "delete"}).status_code == 404
    client.force_login(owner)
    client.post(f"/documents/sources/{row.pk}/", {"action": "delete"})
    assert not SyncSource.objects.exists()


def test_the_page_lists_the_folders_that_may_be_read_to_staff_alone(
    client: Client, owner: User, settings: Any
) -> None:
    folders = ["/srv/policies", "/srv/minutes"]
    settings.SITE = settings.SITE.model_copy(update={"source_folders": folders})
    owner.is_staff = True
    owner.save()
    client.force_login(owner)
    assert "/srv/policies, /srv/minutes" in client.get("/documents/sources/").content.decode()
    client.force_login(UserFactory())
    assert "/srv/policies" not in client.get("/documents/sources/").content.decode()
