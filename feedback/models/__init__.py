"""What users said of answers, what follows from it, and who decided so.

ratings      Rating: one user's word on one answer or source
evidence     RatedQuestion, QuestionVector, RatedPassage, Evidence, Burst: which passage a rating speaks for or against
revisions    Revision, Boost, RevisionEvent, FeedbackState: what ranking makes of the evidence, and what is live
sketches     PassageSketch: how a passage is known again where its document is cut otherwise
curation     GoldenQuestion, GoldenRelevance, ManualBoost: what staff say themselves
"""

from feedback.models.curation import GoldenQuestion, GoldenRelevance, ManualBoost
from feedback.models.evidence import Burst, Evidence, QuestionVector, RatedPassage, RatedQuestion
from feedback.models.ratings import Rating
from feedback.models.revisions import Boost, FeedbackState, Revision, RevisionEvent
from feedback.models.sketches import PassageSketch

__all__ = [
    "Boost",
    "Burst",
    "Evidence",
    "FeedbackState",
    "GoldenQuestion",
    "GoldenRelevance",
    "ManualBoost",
    "PassageSketch",
    "QuestionVector",
    "RatedPassage",
    "RatedQuestion",
    "Rating",
    "Revision",
    "RevisionEvent",
]
