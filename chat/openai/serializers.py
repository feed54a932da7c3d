"""What OpenAI's clients send, as what `chat.services.ask` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from rest_framework import serializers

from chat.api.question_serializers import RequestSerializer
from chat.labels import EFFORTS
from ragsite.core.api.fields import (
    FlagField,
    ListField,
    StrictSerializer,
    TextField,
    WholeNumberField,
)
from ragsite.core.errors import InvalidInputError, NotFoundError, TooLargeError
from ragsite.core.messages import worded
from ragsite.core.text import clean_text
from retrieval.engine.text.quoting import HISTORY_MESSAGES
from retrieval.engine.workflows.registry import offered_workflows
from retrieval.knowledge.api.question_fields import QuestionField

MODEL = "ragsite"  # the site's default workflow
BY_ASSISTANT = f"{MODEL}@"
MOST_MESSAGES = 2000
MESSAGES_CHARS = 400_000  # all texts of a request together
# What clients send without being asked. The site's own settings decide these, and tools are the site's; the answer
# names those that were sent.
IGNORED = frozenset(
    {
        "temperature",
        "top_p",
        "max_tokens",
        "max_completion_tokens",
        "stop",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "seed",
        "user",
        "metadata",
        "store",
        "service_tier",
        "reasoning_effort",
        "verbosity",
        "parallel_tool_calls",
        "tools",
        "tool_choice",
        "response_format",
        "prompt_cache_key",
        "safety_identifier",
    }
)


class ModelNotFoundError(NotFoundError):
    code = "model_not_found"
    message = worded("There is no such model; GET /v1/models lists them.")


def model_names() -> list[str]:
    """Without those of collections, `ragsite:<collection>`."""
    return [MODEL, *(f"{MODEL}/{name}" for name in (*EFFORTS, *offered_workflows(settings.RAG)))]


def model_request(model: str) -> dict[str, Any]:
    """How to answer, of `ragsite[/effort or workflow][:collection]` or `ragsite@assistant`. Raises
    ModelNotFoundError."""
    if model.startswith(BY_ASSISTANT) and model != BY_ASSISTANT:
        return {"assistant": model.removeprefix(BY_ASSISTANT)}
    name, _, collection = model.partition(":")
    if name not in model_names():
        raise ModelNotFoundError(fields={"model": [model]})
    way = name.removeprefix(MODEL).removeprefix("/")
    request = dict(EFFORTS.get(way, {"workflow": way} if way else {}))
    return request | ({"collections": [collection]} if collection else {})


class StreamOptionsSerializer(StrictSerializer):
    include_usage = FlagField(required=False, default=False)
    include_obfuscation = FlagField(required=False, default=False)


class ChatCompletionSerializer(RequestSerializer):
    """OpenAI's parameters; those that the site decides itself are taken and ignored, unless an answer without them
    would be of no use: a call of a tool, or JSON. Beside them, by `extra_body`, the fields of `POST /api/chat`.

    ignored: the names of those that were sent.
    """

    workflow = None  # type: ignore[assignment]  # the model says it
    model = TextField(
        max_length=500,
        help_text="`ragsite`, `ragsite/quick`, `ragsite:<collection>`, `ragsite@<assistant>` …",
    )
    messages = ListField(
        child=serializers.DictField(),
        allow_empty=False,
        max_length=MOST_MESSAGES,
        help_text="The last one is the question.",
    )
    n = WholeNumberField(required=False, min_value=1, max_value=1)
    stream_options = StreamOptionsSerializer(required=False, allow_null=True)

    def to_internal_value(self, data: Any) -> Any:
        self.ignored: list[str] = []
        if isinstance(data, Mapping):
            _require_text(data)
            self.ignored = sorted(name for name in IGNORED if data.get(name) is not None)
            data = {name: value for name, value in data.items() if name not in IGNORED}
        return super().to_internal_value(data)

    def validate_messages(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
        """`{"role", "text"}` of what was asked and answered, oldest first. Instructions of the client are left out: the
        site has its own."""
        texts = [
            {"role": _role(message), "text": _text(message.get("content"))} for message in messages
        ]
        if sum(len(message["text"]) for message in texts) > MESSAGES_CHARS:
            raise TooLargeError(
                worded(
                    "These messages are too long; send at most {most:,} characters.",
                    most=MESSAGES_CHARS,
                )
            )
        if texts[-1]["role"] != "user":
            raise _refused("messages", worded("The last message must be the user's question."))
        QuestionField().run_validation(texts[-1]["text"])
        return [
            message
            for message in texts
            if message["role"] in ("user", "assistant") and message["text"]
        ]

    def arguments(self) -> dict[str, Any]:
        """Arguments of `ask`."""
        body = self.request()
        chosen = model_request(body.pop("model"))
        *earlier, question = self.validated_data["messages"]
        request = {**chosen, **body, "history": earlier[-HISTORY_MESSAGES:]}
        if options := {**chosen.get("options", {}), **body.get("options", {})}:
            request["options"] = options
        if collections := [*chosen.get("collections", ()), *body.get("collections", ())]:
            request["collections"] = collections
        return {"text": question["text"], "request": request}


def _require_text(body: Mapping[str, Any]) -> None:
    """Raises InvalidInputError where the client can't use an answer in words."""
    if body.get("tool_choice") not in (None, "none", "auto"):
        sentence = worded(
            "This site answers from its documents and calls none of a client's tools: leave “tool_choice” out, or send "
            "“auto”."
        )
        raise _refused("tool_choice", sentence)
    if body.get("response_format") not in (None, {"type": "text"}):
        raise _refused(
            "response_format",
            worded("Answers are Markdown, not JSON: leave “response_format” out."),
        )


def _role(message: Mapping[str, Any]) -> str:
    """Raises InvalidInputError."""
    role = message.get("role")
    if not isinstance(role, str):
        raise _refused(
            "messages", worded("Each message has a role: “user”, “assistant” or “system”.")
        )
    return role


def _text(content: Any) -> str:
    """Of a string, or of parts of which each is a text. Raises InvalidInputError."""
    match content:
        case None:
            return ""
        case str():
            return clean_text(content)
        case list():
            return "\n".join(
                _text(part) if isinstance(part, str) else _text_of_part(part) for part in content
            )
    raise _refused("messages", worded("The content of a message is a text, or a list of texts."))


def _text_of_part(part: Any) -> str:
    match part:
        case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return clean_text(text)
    raise _refused("messages", worded("Only text is taken here; upload files as documents."))


def _refused(field: str, sentence: str) -> InvalidInputError:
    return InvalidInputError(sentence, fields={field: [sentence]})
