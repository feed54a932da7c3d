"""Conversations, and what the review desk keeps beside them."""

from chat.models.conversations import DecisionStep, Message, Session, Share, Source
from chat.models.prompts import FilledPrompt
from chat.models.replays import Replay, ReplayBatch
from chat.models.retention import RetentionRun
from chat.models.review import AnswerLabel, AnswerReview, AnswerTerms, DeskEvent, ReviewedCollection, SavedView
from chat.models.rollups import AnswerRollup, AskerDay, DocumentRollup, RollupDay

__all__ = [
    "AnswerLabel",
    "AnswerReview",
    "AnswerRollup",
    "AnswerTerms",
    "AskerDay",
    "DecisionStep",
    "DeskEvent",
    "DocumentRollup",
    "FilledPrompt",
    "Message",
    "Replay",
    "ReplayBatch",
    "RetentionRun",
    "ReviewedCollection",
    "RollupDay",
    "SavedView",
    "Session",
    "Share",
    "Source",
]
