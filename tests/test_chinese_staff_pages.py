"""No English is left on the pages of staff for who reads Chinese: the administration and the review desk, crawled.

Everything that people write is Chinese here, so Latin words next to each other are the site's own, or a name.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.translation import override

from chat.models import Message
from feedback.curation.curated import curated_save
from feedback.curation.manual import manual_boost_end, manual_boost_set
from feedback.models import GoldenQuestion, GoldenRelevance
from feedback.ranking.guard import NO_GOLDEN, GuardReport, Worse
from feedback.rounds import round as rounds
from feedback.rounds.round import feedback_round
from ragsite.core.wording import worded, wordings_of
from ragsite.library_texts import ROUNDS
from ragsite.models import PersonalDataJob
from retrieval.models import Chunk, Collection, Document
from tests.factories import (
    ChunkFactory,
    CollectionFactory,
    DecisionStepFactory,
    DocumentFactory,
    IngestJobFactory,
    MemoryFactory,
    UserFactory,
)
from tests.feedback.rated import answered, rate, regular

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(600)]

LANGUAGES = ("zh-hans", "zh-hant")
STARTS = ("/admin/", "/review/")
EACH = 5  # addresses of the same page, each with other parameters, that are looked at
WORD = r"[A-Za-z][A-Za-z'’-]*"
FIELDS = re.compile(r"\w+-(?:TOTAL|INITIAL)_FORMS")
ENGLISH = re.compile(rf"{WORD}(?:[,;:]? +{WORD})+")
with override("en"):
    STORED = "|".join(re.escape(str(name)) for name in ROUNDS)  # of the schedules, which an administrator may change
NAMES = re.compile(  # of things, which have no other name in Chinese
    r"Ragsite|English|JSON Lines|Milvus Lite|manage\.py \w+|Group.permission(?:s object| relationships?)|UTC|Task Name|"
    + STORED
)
ACTIONS = {
    "retrieval.Collection": ("approve", "withdraw_approval", "reembed", "reindex", "delete_selected"),
    "retrieval.Document": ("read_again", "delete_selected"),
}
WEAK = worded("no ratings bear on what was found")
SHOWN = ("title", "placeholder", "aria-label", "alt", "data-label")
SKIPPED = {"script", "style", "pre", "code", "kbd", "textarea", "svg"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Texts(HTMLParser):
    """What a page shows: `texts`, and the addresses it leads to: `links`."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.links: list[str] = []
        self._left_out: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if self._left_out or tag in SKIPPED or given.get("lang", "").startswith("en"):
            if tag not in VOID:
                self._left_out.append(tag)
            return
        if given.get("name") in ("timezone", "permissions", "user_permissions"):  # Django names these in English
            self._left_out.append(tag)
        self.texts += [given[name] for name in SHOWN if name in given]
        if tag == "input" and given.get("type") in ("submit", "button", "reset"):
            self.texts.append(given.get("value", ""))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])

    def handle_endtag(self, tag: str) -> None:
        if tag in self._left_out:
            while self._left_out.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            self.texts.append(data)


def english_on(page: Texts) -> list[str]:
    return [
        found[0]
        for text in page.texts
        for found in ENGLISH.finditer(FIELDS.sub("。", NAMES.sub("。", " ".join(text.split()))))
    ]


def crawled(client: Client, within: tuple[str, ...] = STARTS) -> Iterator[tuple[str, str, Texts]]:
    """Address, HTML and what it shows, of each kind of page a few."""
    waiting, pages, kinds = deque(within), Counter[str](), set[tuple[str, ...]]()
    known = set(within)
    while waiting:
        url = waiting.popleft()
        parts = urlsplit(url)
        if parts.netloc or not parts.path.startswith(within):
            continue
        try:
            match = resolve(parts.path)
        except Resolver404:
            continue
        kind = (match.view_name, *sorted(name for name, _ in parse_qsl(parts.query)))
        if kind in kinds or pages[match.view_name] >= EACH or match.view_name == "admin:logout":
            continue
        kinds.add(kind)
        pages[match.view_name] += 1
        answer = client.get(url, follow=True)
        if not answer.get("Content-Type", "").startswith("text/html") or answer.streaming:
            continue
        html = answer.content.decode()
        page = Texts(html)
        yield url, html, page
        links = dict.fromkeys(urljoin(url, link).partition("#")[0] for link in page.links)
        waiting.extend(link for link in links if link not in known)
        known.update(links)


# ------------------------------------------------------------------------------------------------ a site with all of it
@pytest.fixture
def staff(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    settings.ENVIRON = {}
    monkeypatch.setattr("celery.app.base.Celery.send_task", lambda *_, **__: None)
    user = UserFactory(username="馆长", is_superuser=True)
    fill(user, monkeypatch)
    yield user


def a_passage(text: str) -> Chunk:
    known = Collection.objects.filter(name="规章").first() or CollectionFactory(name="规章")
    chunk: Chunk = ChunkFactory(
        document=a_document(f"规章：{text}", collection=known), text=text, heading="借阅", seq=0
    )
    return chunk


def a_document(title: str, **fields: Any) -> Document:
    named = {"file_name": f"{title}.md", "department": "教务处", "doc_type": "规章", "tags": ["考试"]}
    document: Document = DocumentFactory(title=title, **named, **fields)
    return document


def asked(question: str, chunks: list[Chunk], user: User | None = None, **fields: Any) -> Message:
    reader = user or regular(username=f"读者{User.objects.count()}")
    message = answered(question, chunks, user=reader, text="可以借十本[1]。", **fields)
    message.session.title = question
    message.session.save()
    message.sources.update(title="规章", heading="借阅")
    return message


def fill(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedback.rounds.guard.RECENT_QUESTIONS", 0)
    ten, four, fee = map(a_passage, ("最多借十本书。", "借期四周。", "逾期每天罚五角。"))
    for _ in range(3):
        rate(asked("可以借几本书？", [ten]), 5, "accurate", "helpful")
        rate(asked("一次最多借多少本书？", [ten]), 5, "accurate")
    rate(asked("可以借几本书？", [ten], user=UserFactory(username="新读者")), 1, "outdated", "wrong_source")
    rate(asked("可以借几本书？", [ten]), 4, "style", marker=1)
    feedback_round(by=staff)
    for _ in range(3):
        rate(asked("书能借多久？", [four]), 5, "accurate")
    report = GuardReport(
        golden=4, recent=2, ndcg_before=0.81, ndcg_after=0.64, drop=0.17, drop_interval=[0.1, 0.2], overlap=0.5,
        first_changed=1, worse=[Worse(question="图书馆几点开门？", before=1.0, after=0.43)],
        reason=worded(
            "the top results of recent questions would be another list: overlap {overlap}, at least {least}",
            overlap="0.40", least="0.5",
        ),
        notes=[NO_GOLDEN],
    )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(rounds, "guard_measure", lambda *_, **__: report)
        feedback_round()
    for _ in range(4):
        rate(asked("逾期罚多少？", [fee]), 1, "outdated")
    feedback_round()
    for boost in (
        manual_boost_set(by=staff, document=ten.document, hide=True, why="已废止。"),
        manual_boost_set(
            by=staff, document=four.document, multiplier=2.0, chunk_id=four.pk, why="重要。",
            expires_at=timezone.now() + timedelta(days=9),
        ),
    ):  # fmt: skip
        if boost.hide:
            manual_boost_end(boost=boost, by=staff, why="又生效了。")
    question = GoldenQuestion.objects.create(
        text="可以借几本书？", collection=ten.document.collection, created_by=staff
    )
    GoldenRelevance.objects.create(question=question, document=ten.document)
    curated_save(by=staff, question="可以借几本书？", text="十本[1]。", chunk_ids=[ten.pk])
    last = asked("逾期罚多少？", [fee])
    Message.objects.filter(pk=last.pk).update(
        degraded=[{"step": "rerank", "reason": "模型没有回答。"}],
        status="interrupted",
        reason=str(WEAK),
        wordings=wordings_of(WEAK),
    )
    for number, (name, status) in enumerate(
        (("condense", "ok"), ("rewrite", "skipped"), ("rerank", "degraded"), ("generate", "failed")), start=1
    ):
        DecisionStepFactory(
            message=last, seq=number, name=name, status=status, summary=str(WEAK), detail={"why": str(WEAK)}
        )
    for _, decision in ((0, "NO_ANSWER"), (1, "CLARIFY")):
        asked("谁赢了比赛？", [], decision=decision)
    failed = DocumentFactory(
        title="坏文件",
        file_name="坏.pdf",
        collection=ten.document.collection,
        status="failed",
        department="教务处",
        doc_type="规章",
        tags=[],
    )
    IngestJobFactory(document=failed, state="failed")
    MemoryFactory(user=staff, question="押金多少？", text="三百元。")
    PersonalDataJob.objects.create(kind="export", user_number=staff.pk, requested_by=staff, reason="本人要求。")


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_page_of_staff_has_english_left(staff: User, language: str) -> None:
    client = Client(headers={"accept-language": language})
    client.force_login(staff)
    found: dict[str, str] = {}
    for url, _html, page in crawled(client):
        for text in english_on(page):
            found.setdefault(text, url)
    assert not found, "\n".join(f"{text!r} on {url}" for text, url in found.items())


@pytest.mark.parametrize("language", LANGUAGES)
def test_forms_are_refused_and_deeds_are_told_without_english(staff: User, language: str) -> None:
    """Each form of the administration sent empty, and actions of lists, with what they say afterwards."""
    client = Client(headers={"accept-language": language})
    client.force_login(staff)
    found = set()
    for url, html, _page in list(crawled(client, ("/admin/feedback/", "/admin/retrieval/", "/admin/ragsite/"))):
        if 'method="post"' in html and "/delete/" not in url:
            answer = client.post(url, follow=True)
            found |= {(text, url) for text in english_on(Texts(answer.content.decode()))}
    for model, actions in ACTIONS.items():
        for action in actions:
            rows = [row.pk for row in apps.get_model(model).objects.all()[:1]]
            app, _dot, name = model.lower().partition(".")
            answer = client.post(f"/admin/{app}/{name}/", {"action": action, "_selected_action": rows}, follow=True)
            found |= {(text, f"{model}: {action}") for text in english_on(Texts(answer.content.decode()))}
    assert not found, "\n".join(f"{text!r} on {url}" for text, url in sorted(found))
