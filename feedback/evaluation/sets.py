"""What is measured: golden questions by set, and imported sets, whose files are checked before they stay."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet

from feedback.models import ALL_GOLDEN, EvaluationRun, EvaluationSet, GoldenQuestion
from ragsite.core.errors import ConflictError, InvalidInputError, NotFoundError, StorageFullError, TooLargeError
from ragsite.core.storage import MIB, check_room, is_lack_of_room
from ragsite.core.text import clean_text
from ragsite.core.wording import worded
from retrieval.evaluation.dataset import Dataset, DatasetError, load_dataset
from retrieval.evaluation.stages import STAGES
from retrieval.workflows import available_workflows

MAX_MIB = {"corpus.jsonl": 64, "queries.jsonl": 8, "qrels.tsv": 16}
MAX_DOCUMENTS = 20_000
MAX_QUESTIONS = 20_000  # in a file; measured are at most MAX_LIMIT of them
MAX_LIMIT = 2_000
MAX_SETS = 50
MAX_NAME_CHARS = 100
MAX_ID_CHARS = 200
WITHOUT_A_MODEL = ("dense", "bm25", "hybrid", "+boosts")
IMPORTED_STAGES = ("dense", "bm25", "hybrid")
FIELD_OF = {"corpus.jsonl": "corpus", "queries.jsonl": "queries", "qrels.tsv": "qrels"}


class TooManySetsError(ConflictError):
    message = worded("There are {most} evaluation sets already; delete one that is not used.", most=MAX_SETS)


# ------------------------------------------------------------------------------------------------ read
def evaluation_sets() -> QuerySet[EvaluationSet]:
    """All golden questions first, then by age."""
    return EvaluationSet.objects.select_related("made_by").order_by("created_at", "id")


def evaluation_set_get(set_id: UUID) -> EvaluationSet:
    """Raises NotFoundError."""
    found = evaluation_sets().filter(pk=set_id).first()
    if found is None:
        raise NotFoundError
    return found


def golden_of(chosen: EvaluationSet) -> QuerySet[GoldenQuestion]:
    """The golden questions of a golden set that are in use."""
    return golden_named(chosen.golden)


def golden_named(golden: str | None) -> QuerySet[GoldenQuestion]:
    """Those in use of a named set, or of all of them."""
    rows = GoldenQuestion.objects.filter(enabled=True)
    return rows if golden == ALL_GOLDEN else rows.filter(set_name=golden)


def measurable(chosen: EvaluationSet, *, workflow: str | None = None, limit: int | None = None) -> int:
    """How many questions a run would measure; None: as for the nights. Where no document is expected, it takes a
    workflow."""
    asked = chosen.workflow if workflow is None else workflow
    if chosen.is_imported:
        count = max(chosen.questions, chosen.decided if asked else 0)
    else:
        rows = golden_of(chosen)
        found = Q(relevant__isnull=False)
        wanted = found | ~Q(expects=GoldenQuestion.Expected.ANSWER) if asked else found
        count = rows.filter(wanted).distinct().count()
    return min(count, limit or chosen.limit)


def without_document(chosen: EvaluationSet) -> int:
    """How many golden questions in use expect no document, so that no run measures them until a workflow answers."""
    if chosen.is_imported or chosen.workflow:
        return 0
    return golden_of(chosen).filter(relevant=None).exclude(expects=GoldenQuestion.Expected.ANSWER).count()


def may_decide(chosen: EvaluationSet) -> bool:
    """Whether it is known what is right for its questions, so that a workflow may be asked them."""
    return not chosen.is_imported or chosen.decided > 0


def golden_left() -> list[tuple[str, int]]:
    """Named golden sets that are not measured by themselves, with how many of their questions are in use."""
    known = EvaluationSet.objects.exclude(golden=None).values_list("golden", flat=True)
    rows = GoldenQuestion.objects.filter(enabled=True).exclude(set_name__in=[*known, ""])
    return list(rows.order_by("set_name").values_list("set_name").annotate(Count("pk")))


# ------------------------------------------------------------------------------------------------ golden
@transaction.atomic
def golden_set_add(*, by: User, golden: str) -> EvaluationSet:
    """Measure a set of golden questions by itself. Raises InvalidInputError, ConflictError."""
    if EvaluationSet.objects.filter(golden=golden).exists():
        raise ConflictError(worded("This set is measured already."))
    wanted = EvaluationSet(golden=golden, stages=list(WITHOUT_A_MODEL), nightly=True, made_by=by)
    if not golden_of(wanted).exists():
        raise InvalidInputError(fields={"golden": [worded("This set has no golden question in use.")]})
    _check_room()
    wanted.save()
    return wanted


# ------------------------------------------------------------------------------------------------ imported
def evaluation_set_import(*, by: User, name: str, files: Mapping[str, File[bytes]]) -> EvaluationSet:
    """Store a set. files: corpus, queries, qrels. Nothing stays of one that has a mistake.

    Raises InvalidInputError, whose fields name the file and say the line; TooLargeError, StorageFullError,
    ConflictError, TooManySetsError.
    """
    name = " ".join(name.split())
    _check_name(name)
    _check_room()
    _check_sizes(files)
    size = sum(files[field].size or 0 for field in FIELD_OF.values())
    check_room(size)
    with tempfile.TemporaryDirectory(dir=_place(), prefix=".import-") as temporary:
        folder = Path(temporary) / "set"
        folder.mkdir()
        try:
            for file_name, field in FIELD_OF.items():
                with (folder / file_name).open("wb") as stored:
                    for chunk in files[field].chunks():
                        stored.write(chunk)
        except OSError as error:
            if is_lack_of_room(error):
                raise StorageFullError from error
            raise
        dataset = _checked(folder)
        made = EvaluationSet(
            name=name, documents=len(dataset.documents), questions=len(dataset.ranked), decided=len(dataset.decided),
            size_bytes=size, stages=list(IMPORTED_STAGES), made_by=by,
        )  # fmt: skip
        try:
            with transaction.atomic():
                made.save(force_insert=True)
                folder.rename(set_folder(made))
        except IntegrityError as error:  # somebody else's of the same name, in this moment
            raise _taken() from error
    return made


def set_folder(chosen: EvaluationSet) -> Path:
    """Where the files of an imported set lie."""
    return _place() / str(chosen.pk)


def set_dataset(chosen: EvaluationSet, *, limit: int) -> Dataset:
    """Raises DatasetError."""
    dataset = load_dataset(set_folder(chosen), by_name=True).limited(limit)
    return Dataset(name=chosen.name, documents=dataset.documents, queries=dataset.queries, qrels=dataset.qrels)


def _place() -> Path:
    place = Path(settings.MEDIA_ROOT) / "evaluation"
    place.mkdir(parents=True, exist_ok=True)
    return place


def _check_name(name: str, *, besides: UUID | None = None) -> None:
    if not name:
        raise InvalidInputError(fields={"name": [worded("Give the set a name.")]})
    if len(name) > MAX_NAME_CHARS:
        raise InvalidInputError(fields={"name": [worded("At most {most} characters.", most=MAX_NAME_CHARS)]})
    others = EvaluationSet.objects.filter(golden=None, name=name)
    if (others.exclude(pk=besides) if besides else others).exists():
        raise _taken()


def _taken() -> ConflictError:
    return ConflictError(worded("There is a set of this name already; choose another name."))


def _check_room() -> None:
    if EvaluationSet.objects.count() >= MAX_SETS:
        raise TooManySetsError


def _check_sizes(files: Mapping[str, File[bytes]]) -> None:
    for file_name, field in FIELD_OF.items():
        if (files[field].size or 0) > MAX_MIB[file_name] * MIB:
            raise TooLargeError(
                worded("{file} may have {most} MiB; take fewer lines of it.", file=file_name, most=MAX_MIB[file_name])
            )


def _checked(folder: Path) -> Dataset:
    """Raises InvalidInputError."""
    try:
        dataset = load_dataset(folder, by_name=True)
    except DatasetError as error:
        named = next((field for name, field in FIELD_OF.items() if error.message.startswith(name)), "corpus")
        raise InvalidInputError(fields={named: [error.message]}) from error
    if len(dataset.documents) > MAX_DOCUMENTS:
        too_many = worded(
            "A set may have {most} documents; this one has {count}.", most=MAX_DOCUMENTS, count=len(dataset.documents)
        )
        raise InvalidInputError(fields={"corpus": [too_many]})
    if len(dataset.queries) > MAX_QUESTIONS:
        too_many = worded(
            "A set may have {most} questions; this one has {count}.", most=MAX_QUESTIONS, count=len(dataset.queries)
        )
        raise InvalidInputError(fields={"queries": [too_many]})
    if not dataset.ranked and not dataset.decided:
        nothing = worded(
            "No question has a judged document, and none is marked unanswerable or clarify: nothing can be measured."
        )
        raise InvalidInputError(fields={"qrels": [nothing]})
    for query in dataset.queries:
        if len(query.id) > MAX_ID_CHARS or clean_text(query.id) != query.id:
            strange = worded(
                "The id {id} of a question is too long, or holds a character that can't be stored.",
                id=repr(query.id[:50]),
            )
            raise InvalidInputError(fields={"queries": [strange]})
    known = {document.id for document in dataset.documents}
    if dataset.ranked and not any(known & set(dataset.qrels[query.id]) for query in dataset.ranked):
        strange = worded("qrels.tsv names none of the documents in corpus.jsonl.")
        raise InvalidInputError(fields={"qrels": [strange]})
    return dataset


# ------------------------------------------------------------------------------------------------ changed and deleted
@transaction.atomic
def evaluation_set_change(*, chosen: EvaluationSet, changes: Mapping[str, Any]) -> EvaluationSet:
    """Any of name (of an imported one), stages, workflow, limit, nightly, margin.

    Raises InvalidInputError, ConflictError.
    """
    wanted = dict(changes)
    if "name" in wanted:
        wanted["name"] = " ".join(wanted["name"].split())
        if not chosen.is_imported:
            raise InvalidInputError(fields={"name": [worded("A set of golden questions is called as it is there.")]})
        _check_name(wanted["name"], besides=chosen.pk)
    if "stages" in wanted:
        wanted["stages"] = stages_checked(wanted["stages"])
    if wanted.get("workflow"):
        workflow_check(chosen, wanted["workflow"])
    for name, value in wanted.items():
        setattr(chosen, name, value)
    try:
        with transaction.atomic():
            chosen.save(update_fields=list(wanted))
    except IntegrityError as error:
        raise _taken() from error
    return chosen


def stages_checked(stages: Sequence[str]) -> list[str]:
    """In their order. Raises InvalidInputError."""
    if unknown := sorted(set(stages) - set(STAGES)):
        sentence = worded("There is no stage {name}; choose among {known}.", name=unknown[0], known=", ".join(STAGES))
        raise InvalidInputError(fields={"stages": [sentence]})
    if not stages:
        raise InvalidInputError(fields={"stages": [worded("Choose at least one stage.")]})
    return [stage for stage in STAGES if stage in stages]


def workflow_check(chosen: EvaluationSet, workflow: str) -> None:
    """Raises InvalidInputError."""
    if workflow not in available_workflows():
        known = ", ".join(available_workflows())
        raise InvalidInputError(fields={"workflow": [worded("One of {known}.", known=known)]})
    if not may_decide(chosen):
        marked = worded(
            "No question of this set is marked unanswerable or clarify, so no decision is known to be right."
        )
        raise InvalidInputError(fields={"workflow": [marked]})


@transaction.atomic
def evaluation_set_delete(*, chosen: EvaluationSet) -> None:
    """With its runs; golden questions stay. Raises ConflictError for that of all golden questions."""
    if chosen.golden == ALL_GOLDEN:
        raise ConflictError(worded("All golden questions can be left out of the nights, but not deleted here."))
    folder = set_folder(chosen) if chosen.is_imported else None
    EvaluationRun.objects.filter(set=chosen).update(baseline=None)
    chosen.delete()
    if folder is not None:
        transaction.on_commit(partial(shutil.rmtree, folder, ignore_errors=True))
