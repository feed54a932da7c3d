"""The worker's side of the memory: an answer's fact becomes one short sentence with a vector.

After an answer its fact stands in the database at once, as a model-free rule made it. A worker then has the model
condense it and adds the vector, so that neither call keeps the answer's reader waiting, and a site that is stopped in
between loses nothing. What a lost message left undone, the hourly round does (`memory_repair`).
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import replace
from datetime import timedelta

from asgiref.sync import sync_to_async
from django.db.models import Q
from django.utils import timezone

from ragsite.core.text import clean_line
from retrieval.engine import get_engine
from retrieval.errors import ModelError
from retrieval.memory.selectors import memory_enabled
from retrieval.memory.services import terms_of
from retrieval.models import Memory
from retrieval.steps.memory import MAX_CHARS, condensed_by_model
from retrieval.text.answer_language import answer_language

logger = logging.getLogger(__name__)
LOST_AFTER = timedelta(minutes=2)  # what was not done by then has lost its message
PER_ROUND = 200


async def memory_consolidate(memory_id: uuid.UUID) -> str:
    """Condense one fact and store its vector; what was done, for the log. One that has changed meanwhile is left to the
    message that says so.

    Raises EmbeddingUnavailableError: the fact is kept and found by its words meanwhile.
    """
    memory = await Memory.objects.filter(pk=memory_id).afirst()
    if memory is None:
        return "gone"
    text = await _condensed(memory) if memory.draft else memory.text
    unchanged = Memory.objects.filter(pk=memory.pk, updated_at=memory.updated_at)
    await unchanged.aupdate(text=text, terms=terms_of(memory.question, text), draft="")
    embedder = await get_engine().models.default_embedder()
    [vector] = await embedder.embed_documents([f"{memory.question}\n{text}"])
    await unchanged.aupdate(embedding_model=embedder.space.model, vector=vector.tobytes())
    return "condensed"


async def memory_repair() -> int:
    """Facts whose message was lost, or whose vector is of another model than the present one; without a model, they
    keep theirs. How many there were. Raises EmbeddingUnavailableError."""
    space = (await get_engine().models.default_embedder()).space
    lacking = ~Q(embedding_model=space.model) if space.semantic else Q(embedding_model="")
    lost = Memory.objects.filter(~Q(draft="") | lacking, updated_at__lt=timezone.now() - LOST_AFTER)
    memory_ids = [pk async for pk in lost.values_list("pk", flat=True)[:PER_ROUND]]
    for memory_id in memory_ids:
        await memory_consolidate(memory_id)
    return len(memory_ids)


async def _condensed(memory: Memory) -> str:
    """The model's sentence, where it gives one; else the one there is."""
    if not await sync_to_async(memory_enabled)(user_id=memory.user_id):
        return memory.text
    engine = get_engine()
    deps = replace(engine, language=answer_language(memory.question))
    try:
        async with asyncio.timeout(engine.settings.ollama.structured_timeout_s):
            return clean_line(await condensed_by_model(deps, memory.question, memory.draft))[:MAX_CHARS] or memory.text
    except (ModelError, TimeoutError) as error:
        logger.info("A memory keeps the sentence of its answer: %s", error or "no result in time")
        return memory.text
