"""Conversations, and what the review desk keeps beside them."""

from chat.models.conversations import DecisionStep, Message, Session, Share, Source
from chat.models.prompts import FilledPrompt
from chat.models.replays import Replay, ReplayBatch
from chat.models.review import AnswerLabel, AnswerReview, AnswerTerms, DeskEvent, ReviewedCollection, SavedView

__all__ = [
    "AnswerLabel",
    "AnswerReview",
    "AnswerTerms",
    "DecisionStep",
    "DeskEvent",
    "FilledPrompt",
    "Message",
    "Replay",
    "ReplayBatch",
    "ReviewedCollection",
    "SavedView",
    "Session",
    "Share",
    "Source",
]
