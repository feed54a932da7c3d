"""What every group of the settings is made with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

# Metadata of fields.
CONSTANT = "constant"  # it has no variable: only code gives it another value
LIVE = "live"  # superusers change it while the site runs


class SettingsError(ValueError):
    """An environment variable holds a value that cannot be used; the message names the variable."""


class Group(BaseModel):
    """Settings that belong together. Frozen; a field's docstring is its line in docs/settings.md.

    A field's variable is the group's prefix and the field's name, or what `validation_alias` says; `Annotated` with
    CONSTANT it has none.
    """

    env_prefix: ClassVar[str] = ""
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_by_name=True, use_attribute_docstrings=True
    )

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """Read the group's variables; an empty one means the default. Raises SettingsError, which shows no value."""
        variables = cls.variables()
        values = {name: text for name, variable in variables.items() if (text := environ.get(variable, "").strip())}
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
Address = Annotated[str, AfterValidator(_check_address)]
"""An http(s) address, or nothing. Give such a field `repr=False`: addresses may hold passwords."""
