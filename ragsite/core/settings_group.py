"""What every group of the settings is made with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

# Metadata of fields.
CONSTANT = "constant"  # it has no variable: only code gives it another value
LIVE = "live"  # superusers change it while the site runs, in the administration
MODEL_SERVER = "model server"  # they change it there, too, on the page of models


class SettingsError(ValueError):
    """An environment variable holds a value that cannot be used; the message names the variable."""


class Group(BaseModel):
    """Settings that belong together. Frozen; a field's docstring is its line in docs/settings.md.

    A field's variable is the group's prefix and the field's name, or what `validation_alias` says; `Annotated` with
    CONSTANT it has none.
    """

    env_prefix: ClassVar[str] = ""
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        use_attribute_docstrings=True,
    )

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """Read the group's variables; an empty one means the default. Raises SettingsError, which shows no value."""
        variables = cls.variables()
        values = {
            name: text
            for name, variable in variables.items()
            if (text := environ.get(variable, "").strip())
        }
        try:
            return cls(**values)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            reason = fault["msg"].removeprefix("Value error, ")
            place = ".".join(variables.get(str(part), str(part)) for part in fault["loc"])
            raise SettingsError(f"{place}: {reason}" if place else reason) from None

    @classmethod
    def variables(cls) -> dict[str, str]:
        """Field → environment variable."""
        return {
            name: str(field.validation_alias or cls.env_prefix + name.upper())
            for name, field in cls.model_fields.items()
            if CONSTANT not in field.metadata
        }

    def replace(self, **changes: Any) -> Self:
        """A copy with other values, which are checked as at the start. Raises pydantic.ValidationError."""
        return type(self)(**{**dict(self), **changes})


PREFIXES = ("RAG_", "RAGSITE_")
OTHERS = ("RAGSITE_KEY", "RAGSITE_TEST_")  # what the examples in docs/ and the tests read begins so


def refuse_unknown(environ: Mapping[str, str], groups: Iterable[type[Group]]) -> None:
    """Raises SettingsError for a variable that looks like a setting and is none, with the nearest name."""
    known = [variable for group in groups for variable in group.variables().values()]
    for variable in sorted(environ):
        if not variable.startswith(PREFIXES) or variable.startswith(OTHERS) or variable in known:
            continue
        nearest = get_close_matches(variable, known, n=1, cutoff=0.0)
        raise SettingsError(f"{variable}: there is no such setting; did you mean {nearest[0]}?")


def origin_of(address: str) -> str:
    """Scheme, host and port: what a key is bound to. Empty for no address."""
    if not address:
        return ""
    parts = urlsplit(address)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{parts.hostname}:{port}"


def is_address(text: str) -> bool:
    """Whether it is an http(s) address with a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_address(text: str) -> str:
    if text and not is_address(text):
        raise ValueError("must be an address that starts with http:// or https://")
    return text


def check_prompt_file(path: str) -> str:
    """Raises ValueError unless it is empty, or the path of a file."""
    if path and not Path(path).expanduser().is_file():
        raise ValueError("is not a file")
    return path


def word_or_server(word: str, kind: str) -> AfterValidator:
    """A field that is empty, the word, or the kind of a server and its address: `openai=http://…`."""

    def check(text: str) -> str:
        named, _, address = text.partition("=")
        if text not in ("", word) and not (named == kind and is_address(address)):
            raise ValueError(f"is neither {word} nor {kind}=URL")
        return text

    return AfterValidator(check)


Count = Annotated[int, Field(ge=1)]
WholeNumber = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
PromptFile = Annotated[str, AfterValidator(check_prompt_file)]
Address = Annotated[str, AfterValidator(_check_address)]
"""An http(s) address, or nothing. Give such a field `repr=False`: addresses may hold passwords."""
