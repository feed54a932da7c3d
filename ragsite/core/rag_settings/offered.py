"""Which settings an administrator may change in the interface, and why the others stay the operator's.

A name is "group.field". What a setting does is said by its docstring, which `make messages` collects for those that are
offered here; labels and reasons are collected as any other text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from ragsite.core.rag_settings import GROUPS
from ragsite.core.wording import Sentence, worded

Kind = Literal["flag", "whole", "number", "choice", "model", "models"]


@dataclass(frozen=True, slots=True)
class Offered:
    """label: its name for people. most: the largest number taken here, above which no site has a use for it.

    model: its text is the name of a model, or of several, parted by commas.
    """

    label: Sentence
    most: float | None = None
    model: Literal["", "one", "several"] = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Settings under one heading of the page."""

    name: str
    title: Sentence
    settings: Mapping[str, Offered]


HOUR_S = 3600.0
SECTIONS: tuple[Section, ...] = (
    Section("answers", worded("Answers and models"), {
        "answer.workflow": Offered(worded("Default workflow")),
        "ollama.chat_model": Offered(worded("Answering models"), model="several"),
        "ollama.fast_model": Offered(worded("Fast model"), model="one"),
        "ollama.max_answer_tokens": Offered(worded("Longest answer"), 65_536),
        "ollama.first_token_timeout_s": Offered(worded("Time to the first token, in seconds"), HOUR_S),
        "ollama.structured_timeout_s": Offered(worded("Time of a short call, in seconds"), HOUR_S),
        "ollama.embed_timeout_s": Offered(worded("Time of embedding, in seconds"), HOUR_S),
        "ollama.max_concurrency": Offered(worded("Calls at once"), 256),
    }),
    Section("search", worded("Search"), {
        "search.top_k": Offered(worded("Passages of a search"), 50),
        "search.formula": Offered(worded("Formula of the score")),
        "search.zscore_dense_weight": Offered(worded("Weight of the vector search"), 100),
        "search.cache_ttl_s": Offered(worded("Results are kept, in seconds"), 604_800),
        "route.by_model": Offered(worded("Filters read by the model")),
        "rewrite.enabled": Offered(worded("Other wordings")),
        "hyde.enabled": Offered(worded("Imagined answer (HyDE)")),
        "rerank.enabled": Offered(worded("Reranking")),
        "rerank.max_candidates": Offered(worded("Candidates that are reranked")),
        "rerank.evaluator": Offered(worded("How a passage is scored")),
    }),
    Section("corrective", worded("Corrective workflow"), {
        "corrective.good_score": Offered(worded("Good from")),
        "corrective.weak_score": Offered(worded("Weak below")),
        "corrective.max_refine_rounds": Offered(worded("Rounds of searching again"), 10),
        "corrective.context_passages": Offered(worded("Passages for the answering model"), 50),
        "corrective.timeout_s": Offered(worded("Time of an answer, in seconds"), HOUR_S),
    }),
    Section("self_corrective", worded("Self-corrective and planned workflow"), {
        "self_corrective.pass_rate": Offered(worded("Share of relevant documents")),
        "self_corrective.max_rewrites": Offered(worded("Searches in other words")),
        "grade.enabled": Offered(worded("Grading by the model")),
        "planned.enabled": Offered(worded("Planned workflow")),
        "planned.max_retries": Offered(worded("Plans that are mended"), 10),
        "planned.planner_model": Offered(worded("Planning model"), model="one"),
    }),
    Section("checks", worded("Passages and checks"), {
        "compress.enabled": Offered(worded("Shorten passages")),
        "verify.enabled": Offered(worded("Check sentences")),
        "verify.by_model": Offered(worded("Check by the model")),
        "verify.supported_score": Offered(worded("Supported from")),
    }),
    Section("learning", worded("Memory and ratings"), {
        "memory.enabled": Offered(worded("Memory")),
        "feedback.auto_live": Offered(worded("Revisions go live by themselves")),
    }),
    Section("web_search", worded("Web search"), {
        "web_search.by_default": Offered(worded("Search the web unasked")),
    }),
    Section("limits", worded("Limits"), {
        "limits.questions_per_minute": Offered(worded("Questions in a minute"), 100_000),
        "limits.answers_at_once": Offered(worded("Answers at once"), 1000),
        "limits.answer_timeout_s": Offered(worded("Longest time of an answer, in seconds"), HOUR_S),
        "quotas.storage_mib": Offered(worded("Room for one user's files, in MiB"), 1_000_000_000),
        "quotas.documents": Offered(worded("Documents of one user"), 1_000_000_000),
    }),
)  # fmt: skip
OFFERED: dict[str, Offered] = {name: offered for section in SECTIONS for name, offered in section.settings.items()}

ADDRESS = worded("Where the site connects to, and with which secrets, is decided by the operator alone.")
INDEX = worded("The index is built with it: after a change, documents have to be read or embedded anew.")
START = worded("It is read when the processes start.")
OPERATOR = worded("It protects the site or its machine, and is decided by the operator.")
REASONS: dict[str, Sentence] = {  # of a group, or of one setting; what is not here: OPERATOR
    "milvus": ADDRESS,
    "ollama.base_url": ADDRESS,
    "ollama.offline": ADDRESS,
    "ollama.embed_model": INDEX,
    "ollama.num_ctx": INDEX,
    "ollama.keep_alive_s": OPERATOR,
    "rerank.url": ADDRESS,
    "rerank.model": ADDRESS,
    "web_search": ADDRESS,
    "self_corrective.allowed_addresses": ADDRESS,
    "ingest.chunk_tokens": INDEX,
    "ingest.chunk_overlap_tokens": INDEX,
    "ingest": START,
    "search.max_top_k": START,
    "limits.message_chars": START,
}


def field_of(name: str) -> FieldInfo:
    """Raises KeyError."""
    group, _, field = name.partition(".")
    return GROUPS[group].model_fields[field]


def variable_of(name: str) -> str:
    """The environment variable that sets it. Raises KeyError."""
    group, _, field = name.partition(".")
    return GROUPS[group].variables()[field]


def meaning_of(name: str) -> str:
    """Its docstring on one line, English: the key of its translation."""
    return " ".join((field_of(name).description or "").split())


def kind_of(name: str) -> Kind:
    """How it is asked for."""
    kind = field_of(name).annotation
    if OFFERED[name].model:
        return "models" if OFFERED[name].model == "several" else "model"
    if get_origin(kind) is Literal:
        return "choice"
    if kind is bool:
        return "flag"
    return "whole" if kind is int else "number"


def choices_of(name: str) -> tuple[str, ...]:
    """Of a "choice"."""
    return get_args(field_of(name).annotation)


def bounds_of(name: str) -> dict[str, float]:
    """Of a number: `least` and `most`, both taken; `above`, not taken itself. Those that there are."""
    bounds: dict[str, float] = {}
    for rule in field_of(name).metadata:
        for ours, theirs in (("least", "ge"), ("most", "le"), ("above", "gt")):
            if (bound := getattr(rule, theirs, None)) is not None:
                bounds[ours] = bound
    if (most := OFFERED[name].most) is not None:
        bounds["most"] = min(most, bounds.get("most", most))
    return bounds


def kept_by_operator() -> Iterator[tuple[str, Sentence]]:
    """The settings that are not offered, each with the reason."""
    for group, kind in GROUPS.items():
        for field in kind.model_fields:
            if (name := f"{group}.{field}") not in OFFERED:
                yield name, REASONS.get(name) or REASONS.get(group, OPERATOR)
