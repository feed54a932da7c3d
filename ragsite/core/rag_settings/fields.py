"""What every group of the settings is made with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

SENTENCES = {  # what pydantic found wrong, in words that follow `VARIABLE=value`
    "int_parsing": "is not a whole number",
    "float_parsing": "is not a number",
    "finite_number": "is not a number",
    "bool_parsing": "is neither 1 nor 0",
    "literal_error": "is not {expected}",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be below {lt:g}",
    "less_than_equal": "must be at most {le:g}",
}
CONSTANT = "constant"  # metadata of a field without a variable: only code gives it another value
VERBATIM: dict[str, Any] = {"verbatim": True}  # `json_schema_extra` of a field whose white space is a part of it


class SettingsError(ValueError):
    """An environment variable holds a value that cannot be used; the message names the variable."""


class Group(BaseModel):
    """Settings that belong together. Frozen; a field's docstring is its line in docs/settings.md.

    A field's variable is the group's prefix and the field's name, or what `validation_alias` says; `Annotated` with
    CONSTANT it has none. The value of a field with `repr=False` may hold a password: no error shows it.
    """

    env_prefix: ClassVar[str] = ""
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, validate_by_name=True, use_attribute_docstrings=True
    )

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """Read the group's variables; an empty one means the default. Raises SettingsError."""
        values = {}
        for name, variable in cls.variables().items():
            if (text := environ.get(variable, "")).strip():
                verbatim = cls.model_fields[name].json_schema_extra == VERBATIM
                values[name] = text if verbatim else text.strip()
        try:
            return cls(**values)
        except ValidationError as error:
            raise SettingsError(cls._sentence(error)) from None  # pydantic's own message would hold the value

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

    @classmethod
    def _sentence(cls, error: ValidationError) -> str:
        """What is wrong, with the names of variables."""
        fault, variables = error.errors(include_url=False)[0], cls.variables()
        if fault["type"] == "value_error":
            told = str(fault["ctx"]["error"])
        else:
            told = SENTENCES.get(fault["type"], fault["msg"]).format(**fault.get("ctx", {}))
        if not fault["loc"]:  # of several fields together: the message names them
            return re.sub(r"\w+", lambda word: variables.get(word[0], word[0]), told)
        named = str(fault["loc"][0])
        name = next(name for name, variable in variables.items() if named in (name, variable))
        value = f"={fault['input']!r}" if cls.model_fields[name].repr else ""
        return f"{variables[name]}{value} {told}"


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


Count = Annotated[int, Field(ge=1)]
WholeNumber = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Address = Annotated[str, AfterValidator(_check_address)]
"""An http(s) address, or nothing. Give such a field `repr=False`: addresses may hold passwords."""
