"""Conversations, and what the review desk keeps beside them."""

from chat.models.conversations import DecisionStep, Message, Session, Source
from chat.models.review import AnswerLabel, AnswerReview, AnswerTerms, DeskEvent, ReviewedCollection, SavedView

__all__ = [
    "AnswerLabel",
    "AnswerReview",
    "AnswerTerms",
    "DecisionStep",
    "DeskEvent",
    "Message",
    "ReviewedCollection",
    "SavedView",
    "Session",
    "Source",
]
