"""Conversations, and what the review desk keeps beside them."""

from chat.models.assistants import Assistant
from chat.models.budgets import Budget, UsageDay
from chat.models.conversations import DecisionStep, Message, Session, Share, Source
from chat.models.prompts import FilledPrompt
from chat.models.replays import Replay
from chat.models.review import AnswerLabel, AnswerReview, DeskEvent, ReviewedCollection
from chat.models.starters import Starter, StarterLook

__all__ = [
    "AnswerLabel",
    "AnswerReview",
    "Assistant",
    "Budget",
    "DecisionStep",
    "DeskEvent",
    "FilledPrompt",
    "Message",
    "Replay",
    "ReviewedCollection",
    "Session",
    "Share",
    "Source",
    "Starter",
    "StarterLook",
    "UsageDay",
]
