"""`manage.py ask "QUESTION"`: one question from the terminal, answered in this process and stored nowhere."""

from __future__ import annotations

import asyncio
import json
import logging
from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from chat.labels import STEPS, label
from chat.messages.data import answer_as_stored, localized_message
from chat.models import Message
from chat.runs.answering import answer_question
from chat.runs.spending import tokens_count
from ragsite.core.localized import localized, translate, translate_count
from retrieval.engine.trace import EventSink, Trace
from retrieval.engine.values import Answer, Question
from retrieval.engine.workflows.registry import available_workflows
from retrieval.knowledge.scopes import scope_for_all
from retrieval.management.engine_command import EngineCommand

INTERRUPTED = 130  # the shell's exit status after Ctrl-C


class TerminalSink(EventSink):
    """Writes the answer as it comes. With `--json` nothing is written before the end."""

    def __init__(self, out: Any) -> None:
        self._out = out

    async def chunk(self, content: str) -> None:
        self._out.write(content, ending="")
        self._out.flush()

    async def withdrawn(self) -> None:
        self._out.write(f"\n\n{translate('That was what the model thought. The answer:')}\n")


class Command(EngineCommand):
    """`manage.py ask`. CommandError, and so exit status 1, where there is no answer."""

    help = _(
        "Ask one question over all collections and print the answer, its sources and its decision path."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question")
        parser.add_argument(
            "--workflow", choices=available_workflows(), help=_("by default the site's")
        )
        parser.add_argument(
            "--collection",
            action="append",
            default=[],
            help=_("a name, owner/name or an id; may be given several times"),
        )
        parser.add_argument("--json", action="store_true", help=_("print the chat response object"))

    def handle(self, *args: Any, **options: Any) -> None:
        question = options["question"].strip()
        if not 0 < len(question) <= settings.RAG.limits.message_chars:
            raise CommandError(
                translate(
                    "Give a question of 1 to {most} characters.",
                    most=settings.RAG.limits.message_chars,
                )
            )
        if options["json"]:
            logging.disable(logging.WARNING)
        try:
            self.with_engine(lambda: self._ask(question, options))
        except KeyboardInterrupt:
            self.stderr.write("\n" + translate("Stopped."))
            raise SystemExit(INTERRUPTED) from None

    async def _ask(self, text: str, options: dict[str, Any]) -> None:
        workflow = options["workflow"] or settings.RAG.answer.workflow
        try:
            scope = await sync_to_async(scope_for_all)(names=options["collection"])
            trace = Trace(EventSink() if options["json"] else TerminalSink(self.stdout))
            question = Question(text=text, scope=scope)
            try:
                async with asyncio.timeout(settings.RAG.limits.answer_timeout_s):
                    answer = await answer_question(question, workflow=workflow, trace=trace)
            finally:
                await sync_to_async(tokens_count)(trace.calls, user_id=None)
        except TimeoutError as error:
            raise CommandError(translate("The answer took too long and was stopped.")) from error
        if options["json"]:
            stored = sync_to_async(
                answer_as_stored
            )  # reads where in their documents the cited sentences stand
            data = localized_message(
                *await stored(answer, trace, workflow=workflow, created_at=datetime.now(UTC))
            )
            self.stdout.write(json.dumps(data, ensure_ascii=False, indent=2))
        else:
            self._report(answer, trace)

    def _report(self, answer: Answer, trace: Trace) -> None:
        if trace.first_token_ms is None:
            self.stdout.write(answer.text, ending="")
        self.stdout.write("\n")
        for option in answer.clarification.options if answer.clarification else ():
            self.stdout.write(f"  - {option}")
        if answer.sources:
            self.stdout.write("\n" + translate("Sources"))
        for source in answer.sources:
            chunk = source.chunk
            page = translate("page {page}", page=chunk.page) if chunk.page else ""
            heading = chunk.heading if chunk.heading != chunk.title else ""
            place = ", ".join(filter(None, (page, heading, chunk.url)))
            mark = "*" if source.cited else " "
            self.stdout.write(
                f" {mark}[{source.marker}] {chunk.title}{f' ({place})' if place else ''}"
            )
        reason = f" ({localized(answer.reason.text)})" if answer.reason else ""
        self.stdout.write(
            "\n" + translate("Decision: {decision}", decision=answer.decision) + reason
        )
        if answer.support:
            self.stdout.write(
                translate("Second look: {support}", support=Message.Support(answer.support).label)
            )
        for step in trace.steps:
            reason = step.reason.text if step.reason else ""
            words = localized(step.summary or reason)
            self.stdout.write(
                f"  {step.seq:>2} {label(STEPS, step.name):<30} {step.status:<9} {step.duration_ms:>6} ms  {words}"
            )
        usage = trace.usage()
        calls = translate_count("{count} model call", "{count} model calls", usage.llm_calls)
        rounds = translate_count("{count} round", "{count} rounds", usage.llm_rounds)
        self.stdout.write(
            "  "
            + translate(
                "{calls} in {rounds}, {time} ms", calls=calls, rounds=rounds, time=usage.total_ms
            )
        )
