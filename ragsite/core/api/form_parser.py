"""Forms with files. What the parser refuses is said in one sentence of ours, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http.multipartparser import MultiPartParserError
from rest_framework.exceptions import ParseError
from rest_framework.parsers import MultiPartParser

from ragsite.core.errors import InvalidInputError
from ragsite.core.wording import worded

NAME_TOO_LONG = worded("The name of a file is too long; give it a shorter one.")
UNREADABLE = worded("This form cannot be read: send files and fields as multipart/form-data.")


class FormParser(MultiPartParser):
    """`multipart/form-data`. Raises InvalidInputError where Django's parser gives up."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except ParseError as error:
            # A part's headers hold little but names, of which a file's is the one that people choose.
            cause = error.__context__
            if isinstance(cause, MultiPartParserError) and "header size" in str(cause):
                raise InvalidInputError(NAME_TOO_LONG, fields={"file": [NAME_TOO_LONG]}) from error
            raise InvalidInputError(UNREADABLE) from error
