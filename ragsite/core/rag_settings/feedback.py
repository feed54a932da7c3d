"""What ratings may do to ranking, and what they must not."""

from __future__ import annotations

from dataclasses import dataclass

from ragsite.core.rag_settings.fields import check


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackSettings:
    """The feedback loop: evidence, boosts, the guard, abuse. A vote is a rating of full weight."""

    half_life_days: float = 180.0  # after so many days a vote counts half
    full_votes: float = 3.0  # votes of one mind from which a query-scoped boost is at its bound: more is more doubt
    cosine_from: float = 0.75  # a new question nearer than this to a rated one begins to feel its boost …
    cosine_full: float = 0.9  # … and from here on, in full
    overlap_from: float = 0.4  # the same for the share of terms that both questions hold, weighted by rarity
    overlap_full: float = 0.8  # …
    document_prior: float = 30.0  # votes at the site's mean that a document's own boost starts with
    min_document_raters: int = 3  # distinct people before a document is lifted or lowered whatever is asked
    max_live_boosts: int = 20_000  # query-scoped ones in a revision; the strongest stay
    least_effect: float = 0.03  # a boost within 1 ± this is left out; a smaller change of one makes no new revision
    exploration: float = 0.0  # share of searches in which equal candidates that nobody has rated come first
    refresh_s: float = 2.0  # a process looks so often whether another revision is live
    ratings_per_day: int = 50  # rated questions of one user on one day that count
    new_account_days: float = 7.0  # an account younger than this is new
    new_account_weight: float = 0.3  # of a new account's vote
    staff_weight: float = 1.5  # of a staff member's vote
    burst_votes: int = 15  # on one document on one day …
    burst_accounts: int = 3  # … from at most so many accounts are left out until a person decides
    golden_margin: float = 0.005  # nDCG@10 on the golden questions may drop by this much, not more
    golden_questions: int = 300  # measured at most; more are sampled
    recent_questions: int = 60  # sampled to see how much changes
    recent_days: int = 30  # how far back they are taken from
    max_churn: float = 0.5  # mean share of the 10 top results that may change; 0.47 where each of them was rated
    auto_live: bool = True  # a revision that passes the guard goes live by itself
    keep_revisions: int = 60  # older ones that are not live are forgotten
    lease_s: float = 120.0  # a round that has not reported for this long is taken over
    gap_days: int = 90  # knowledge gaps are made of questions of the last days
    gap_questions: int = 5000  # the newest are looked at, not more
    gap_overlap: float = 0.45  # questions that share this much of their terms, weighted by rarity, are one gap …
    gap_cosine: float = 0.8  # … or whose embeddings are this near, where both have one
    golden_import_bytes: int = 5_000_000  # of a file of golden questions
    golden_import_lines: int = 10_000  # …

    def __post_init__(self) -> None:
        check(self.half_life_days > 0, f"half_life_days={self.half_life_days} must be positive")
        check(self.full_votes >= 1, f"full_votes={self.full_votes} is below 1")
        check(self.document_prior > 0, f"document_prior={self.document_prior} must be positive")
        check(
            -1 <= self.cosine_from < self.cosine_full <= 1, "cosine_from must be below cosine_full, both within -1..1"
        )
        check(0 <= self.overlap_from < self.overlap_full <= 1, "overlap_from must be below overlap_full, both in 0..1")
        check(0 <= self.exploration <= 1, f"exploration={self.exploration} is not in 0..1")
        check(0 <= self.max_churn <= 1, f"max_churn={self.max_churn} is not in 0..1")
        check(self.golden_margin >= 0, f"golden_margin={self.golden_margin} must not be negative")
        check(self.min_document_raters >= 1, "min_document_raters must be at least 1")
        check(self.ratings_per_day >= 1, "ratings_per_day must be at least 1")
        check(min(self.new_account_weight, self.staff_weight) >= 0, "new_account_weight, staff_weight: not negative")
        check(self.burst_votes >= 2, f"burst_votes={self.burst_votes} is below 2")
        check(self.keep_revisions >= 2, f"keep_revisions={self.keep_revisions} is below 2")
        check(0 < self.gap_overlap <= 1, f"gap_overlap={self.gap_overlap} is not in 0..1")
        check(0 < self.gap_cosine <= 1, f"gap_cosine={self.gap_cosine} is not in 0..1")
        check(min(self.gap_days, self.gap_questions) >= 1, "gap_days, gap_questions: at least 1")
