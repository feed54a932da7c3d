"""What may be done about an answer besides asking again: the page offers it, and nothing else takes it."""

from __future__ import annotations

from typing import TypeVar

from chat.models import Message
from retrieval.engine.path_details import CountDetails, GenerateDetails, StepDetails, details_in

D = TypeVar("D", bound=StepDetails)
COUNT = "count"  # over all documents
COUNT_FORM = "count_form"  # the form that counts without a model
ASK_OWNER = "ask_owner"  # its question is sent to a person
ADD_DOCUMENTS = "add_documents"  # there were none to look into
OFFERS = (COUNT, COUNT_FORM, ASK_OWNER, ADD_DOCUMENTS)
UNSURE = (Message.Support.NONE, Message.Support.PARTLY)
INCOMPLETE = (Message.Status.CUT, Message.Status.STOPPED, Message.Status.INTERRUPTED)


def offers_below(answer: Message) -> list[str]:
    """Some of OFFERS. Of an answer that `chat.selectors` has loaded with its details."""
    if answer.status == Message.Status.STREAMING:
        return []
    is_refused = answer.decision == Message.Decision.NO_ANSWER
    if has_no_documents(answer):
        return [ADD_DOCUMENTS] if is_refused else []
    if is_help(answer):
        return []
    was_asked_to_count = answer.request.get("task") == "count"
    is_count = was_asked_to_count or bool(_details(answer, CountDetails))
    offered = []
    if answer.status not in INCOMPLETE and not is_count:
        offered.append(COUNT)
    if was_asked_to_count and is_refused:
        offered.append(COUNT_FORM)
    if answer.session.kept and is_unsure(answer):
        offered.append(ASK_OWNER)
    return offered


def has_no_documents(answer: Message) -> bool:
    """There was no document where it was asked: nobody has overlooked anything."""
    return answer.in_scope == 0 and answer.being_read == 0


def is_help(answer: Message) -> bool:
    """It is the site's own help: no question was looked for."""
    return any(written.help for written in _details(answer, GenerateDetails))


def is_unsure(answer: Message) -> bool:
    """Nothing was found, a second look did not confirm the answer, or no model wrote it; a complete count is sure, and
    the site's help answers no question."""
    if answer.role != Message.Role.ASSISTANT or answer.status == Message.Status.STREAMING:
        return False
    if answer.decision == Message.Decision.NO_ANSWER:
        return True
    if answer.decision != Message.Decision.ANSWER or answer.curated or answer.written_by:
        return False
    if any(count.complete for count in _details(answer, CountDetails)):
        return False
    if is_help(answer):
        return False
    return answer.support in UNSURE or not answer.model


def _details(answer: Message, kind: type[D]) -> list[D]:
    steps = [
        {"name": step.name, "status": step.status, "detail": step.detail}
        for step in answer.decision_steps.all()
    ]
    return details_in(steps, kind)
