"""A site made with an earlier version goes on: its documents, ratings, boosts, sessions, passwords and tokens."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.processes import wait_until
from tests.test_up import PASSWORD, START_S, Site, start

pytestmark = pytest.mark.timeout(180)
SITES = sorted(Path(__file__).parent.glob("site-*.tar.xz"))
REFUND = "How do I get a refund of my tuition fees?"


@dataclass
class Upgraded:
    site: Site
    known: dict[str, Any]

    def call(self, user: str, method: str, path: str, **options: Any) -> Any:
        """The answer's JSON, as this user with the token of the earlier version."""
        headers = {"Authorization": f"Token {self.known['tokens'][user]}"}
        url = f"http://127.0.0.1:{self.site.port}{path}"
        response = httpx.request(method, url, headers=headers, timeout=30, **options)
        assert response.status_code < 300, response.text
        return response.json()

    def documents(self, user: str) -> list[dict[str, Any]]:
        return list(self.call(user, "GET", "/api/documents")["results"])


@pytest.fixture(scope="module", params=SITES, ids=lambda path: path.name.removesuffix(".tar.xz"))
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgraded]:
    data_dir = tmp_path_factory.mktemp("upgraded") / "var"
    with tarfile.open(request.param) as archive:
        archive.extractall(data_dir, filter="data")
    site = start(data_dir)
    try:
        wait_until(lambda: site.is_ready() or site.process.poll() is not None, within_s=START_S)
        assert site.is_ready(), (data_dir.parent / "up.log").read_text()
        yield Upgraded(site, json.loads((data_dir / "known.json").read_text()))
    finally:
        site.process.terminate()
        site.process.wait(30)


def test_documents_are_all_there_and_ready(upgraded: Upgraded) -> None:
    titles = {document["title"]: document["status"] for document in upgraded.documents("ada")}
    assert titles == {
        "Examination Regulations (2025)": "ready",
        "Refund of Tuition Fees (2025)": "ready",
        "Library Loan Regulations (2025)": "ready",
        "北湖大学学籍管理规定（2025年）": "ready",
        "Campus Wi-Fi Guide": "ready",
    }


def test_private_documents_stay_private(upgraded: Upgraded) -> None:
    assert len(upgraded.documents("ben")) == 4


def test_passwords_still_open_the_site(upgraded: Upgraded) -> None:
    login = {"username": "ada", "password": PASSWORD}
    url = f"http://127.0.0.1:{upgraded.site.port}/api/auth/token"
    assert httpx.post(url, json=login, timeout=30).status_code == 200


def test_answers_keep_their_text_sources_and_ratings(upgraded: Upgraded) -> None:
    message = upgraded.call("ada", "GET", f"/api/messages/{upgraded.known['messages']['ada'][0]}")
    assert (message["decision"], message["sources"][0]["title"]) == ("ANSWER", "Refund of Tuition Fees (2025)")
    assert message["rating"]["score"] == 5
    assert message["answer"]


def test_an_old_rating_can_be_changed(upgraded: Upgraded) -> None:
    path = f"/api/messages/{upgraded.known['messages']['ben'][1]}/rating"
    assert upgraded.call("ben", "PUT", path, json={"score": 4})["score"] == 4


def test_the_index_answers_without_being_built_anew(upgraded: Upgraded) -> None:
    found = upgraded.call("ben", "POST", "/api/search", json={"query": REFUND})
    assert found["candidates"][0]["title"] == "Refund of Tuition Fees (2025)"


def test_an_old_answer_can_be_given_anew(upgraded: Upgraded) -> None:
    answer = upgraded.call("ada", "POST", f"/api/messages/{upgraded.known['messages']['ada'][1]}/regenerate")
    assert answer["status"] == "complete"
