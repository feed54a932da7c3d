"""Rows for tests: every model with believable values, so that a test names only what it is about."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import factory
from django.contrib.auth.models import User
from django.utils import timezone
from factory.django import DjangoModelFactory

from chat.models import DecisionStep, Message, Session, Source
from feedback.models import Rating
from retrieval.engine.providers.builtin import BUILTIN_SPACE
from retrieval.memory.services import terms_of
from retrieval.models import Chunk, Collection, Document, IngestJob, Memory

PASSWORD = "correct horse battery"


class UserFactory(DjangoModelFactory):
    """A user who signs in with `PASSWORD`; `is_staff=True, is_superuser=True` for an admin."""

    class Meta:
        model = User
        skip_postgeneration_save = True

    username = factory.Sequence(lambda n: f"user{n}")
    email = factory.LazyAttribute(lambda user: f"{user.username}@example.org")

    @classmethod
    def _create(cls, model_class: type[User], *args: Any, **kwargs: Any) -> User:
        kwargs.setdefault("password", PASSWORD)
        make = (
            model_class.objects.create_superuser
            if kwargs.get("is_superuser")
            else model_class.objects.create_user
        )
        return make(*args, **kwargs)


class CollectionFactory(DjangoModelFactory):
    """A public collection of the site; give `owner` and `visibility` for others. `builtin=True`: with vectors."""

    class Meta:
        model = Collection

    class Params:
        builtin = factory.Trait(
            embedding_model=BUILTIN_SPACE.model, embedding_dim=BUILTIN_SPACE.dim
        )

    name = factory.Sequence(lambda n: f"collection{n}")
    visibility = Collection.Visibility.PUBLIC


class DocumentFactory(DjangoModelFactory):
    """A ready document without a stored file."""

    class Meta:
        model = Document

    collection = factory.SubFactory(CollectionFactory)
    title = factory.Sequence(lambda n: f"Regulation {n}")
    file_name = factory.Sequence(lambda n: f"regulation-{n}.md")
    media_type = "text/markdown"
    size_bytes = 1200
    content_hash = factory.LazyAttribute(
        lambda document: hashlib.sha256(document.file_name.encode()).hexdigest()
    )
    language = "en"
    department = "Registry"
    doc_type = "regulation"
    policy_year = 2025
    tags = factory.LazyFunction(lambda: ["exams"])
    status = Document.Status.READY
    progress = 1.0


class ChunkFactory(DjangoModelFactory):
    class Meta:
        model = Chunk

    id = factory.LazyFunction(uuid.uuid4)
    document = factory.SubFactory(DocumentFactory)
    seq = factory.Sequence(int)
    text = factory.Sequence(lambda n: f"Undergraduates may borrow {n + 1} books.")
    heading = "Loans › Undergraduates"
    page = 1
    token_count = 8
    indexed = True


class IngestJobFactory(DjangoModelFactory):
    class Meta:
        model = IngestJob

    document = factory.SubFactory(DocumentFactory)


class MemoryFactory(DjangoModelFactory):
    """A condensed fact that is not in the index."""

    class Meta:
        model = Memory

    user = factory.SubFactory(UserFactory)
    question = factory.Sequence(lambda n: f"What is the deposit for hall number {n}?")
    text = factory.Sequence(lambda n: f"The deposit for hall number {n} is EUR {300 + n}.")
    terms = factory.LazyAttribute(lambda memory: terms_of(memory.question, memory.text))


class SessionFactory(DjangoModelFactory):
    class Meta:
        model = Session

    user = factory.SubFactory(UserFactory)
    title = factory.Sequence(lambda n: f"Conversation {n}")


class MessageFactory(DjangoModelFactory):
    """A finished answer; `question=True` makes a user's message instead."""

    class Meta:
        model = Message

    class Params:
        question = factory.Trait(
            role=Message.Role.USER,
            text="How many books may I borrow?",
            decision="",
            workflow="",
            model="",
        )

    session = factory.SubFactory(SessionFactory)
    role = Message.Role.ASSISTANT
    text = "Undergraduates may borrow ten books [1]."
    status = Message.Status.COMPLETE
    decision = Message.Decision.ANSWER
    workflow = "corrective"
    model = "test-chat"
    usage = factory.LazyFunction(
        lambda: {
            "llm_calls": 3, "llm_rounds": 2, "prompt_tokens": 900, "completion_tokens": 40, "first_token_ms": 700,
            "total_ms": 1500,
        }
    )  # fmt: skip
    finished_at = factory.LazyFunction(timezone.now)


class SourceFactory(DjangoModelFactory):
    """A document's passage; `web=True` makes a web page's snippet instead."""

    class Meta:
        model = Source

    class Params:
        web = factory.Trait(
            kind=Source.Kind.WEB, document_id=None, chunk_id="web:0123456789abcdef", title="Fees of 2025", page=None,
            heading="", url="https://example.org/fees", published="2025-02-03", text="It is 5.", scores={"rerank": 0.7},
        )  # fmt: skip

    message = factory.SubFactory(MessageFactory)
    marker = factory.Sequence(lambda n: n % 30_000 + 1)
    document_id = factory.LazyFunction(uuid.uuid4)
    chunk_id = factory.LazyFunction(lambda: str(uuid.uuid4()))
    title = "Library loan regulations"
    page = 2
    heading = "Loans › Undergraduates"
    text = "Undergraduates may borrow ten books for four weeks."
    scores = factory.LazyFunction(
        lambda: {"dense": 0.71, "bm25": 12.3, "fused": 0.031, "rerank": 0.9, "final": 0.9}
    )
    cited = True


class DecisionStepFactory(DjangoModelFactory):
    class Meta:
        model = DecisionStep

    message = factory.SubFactory(MessageFactory)
    seq = factory.Sequence(lambda n: n % 30_000 + 1)
    name = "retrieve"
    status = "ok"
    summary = "30 candidates"
    duration_ms = 12


def answered(
    question: str = "How many books may I borrow?", *, session: Session | None = None, **fields: Any
) -> Message:
    """An answer with its question."""
    session = session or SessionFactory()
    asked = MessageFactory(session=session, question=True, text=question)
    answer: Message = MessageFactory(session=session, reply_to=asked, **fields)
    return answer


class RatingFactory(DjangoModelFactory):
    """The session's owner on the whole answer; give `source` for one of its sources."""

    class Meta:
        model = Rating

    message = factory.SubFactory(MessageFactory)
    user = factory.SelfAttribute("message.session.user")
    score = 5
