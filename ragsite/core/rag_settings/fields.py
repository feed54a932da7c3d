"""What every group of the settings is made with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

SENTENCES = {  # what pydantic found wrong, in words that follow `VARIABLE=value`
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
    "float_parsing": "is not a number",
    "finite_number": "is not a number",
    "bool_parsing": "is neither 1 nor 0",
    "literal_error": "is not {expected}",
    "greater_than": "must be above {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be below {lt:g}",
    "less_than_equal": "must be at most {le:g}",
}


VERBATIM: dict[str, Any] = {"verbatim": True}  # `json_schema_extra` of a field whose white space is a part of it


class SettingsError(ValueError):
    """An environment variable holds a value that cannot be used; the message names the variable."""


class Group(BaseSettings):
    """Settings that belong together. Frozen; a field's docstring is its line in docs/settings.md.

    A field's variable is the group's prefix and the field's name, or what `validation_alias` says. The value of a field
    with `repr=False` may hold a password: no error shows it. Built by code, a group reads no environment.
    """

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        validate_by_name=True,
        env_ignore_empty=True,
        use_attribute_docstrings=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """Read the group's variables; an empty one means the default. Raises SettingsError."""
        try:
            return cls(**_Environment(cls, environ)())
        except ValidationError as error:
            raise SettingsError(cls._sentence(error)) from None  # pydantic's own message would hold the value

    @classmethod
    def variables(cls) -> dict[str, str]:
        """Field → environment variable."""
        prefix = cls.model_config["env_prefix"]
        return {name: str(field.validation_alias or prefix + name.upper()) for name, field in cls.model_fields.items()}

    def replace(self, **changes: Any) -> Self:
        """A copy with other values, which are checked as at the start. Raises pydantic.ValidationError."""
        return type(self)(**{**dict(self), **changes})

    @classmethod
    def _sentence(cls, error: ValidationError) -> str:
        fault, variables = error.errors(include_url=False)[0], cls.variables()
        if not fault["loc"]:  # of several fields together: the message names them
            return re.sub(r"\w+", lambda word: variables.get(word[0], word[0]), sentence(fault))
        named = str(fault["loc"][0])
        name = next(name for name, variable in variables.items() if named in (name, variable))
        part = "".join(f": {inner}" for inner in fault["loc"][1:] if isinstance(inner, str))  # of a mapping
        value = f"{part}={fault['input']!r}" if cls.model_fields[name].repr else ""
        return f"{variables[name]}{value} {sentence(fault)}"


class _Environment(EnvSettingsSource):
    """A mapping in place of os.environ: `.env` is in it. Names count as they are written; white space around values
    does not, but in secrets."""

    def __init__(self, kind: type[Group], environ: Mapping[str, str]) -> None:
        self._values: dict[str, str] = {}
        for name, variable in kind.variables().items():
            text = environ.get(variable, "")
            if text.strip():
                verbatim = kind.model_fields[name].json_schema_extra == VERBATIM
                self._values[variable.lower()] = text if verbatim else text.strip()
        super().__init__(kind)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return self._values


def sentence(fault: Any) -> str:
    """What is wrong, without the value. `fault`: one of pydantic's error details."""
    if fault["type"] == "value_error":
        return str(fault["ctx"]["error"])
    return SENTENCES.get(fault["type"], fault["msg"]).format(**fault.get("ctx", {}))


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
Number = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Address = Annotated[str, AfterValidator(_check_address)]
"""An http(s) address, or nothing. Give such a field `repr=False`: addresses may hold passwords."""
