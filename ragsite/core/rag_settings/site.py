"""Limits of the site towards its users."""

from __future__ import annotations

from dataclasses import dataclass

from ragsite.core.rag_settings.fields import check


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    message_chars: int = 8000  # the longest question
    questions_per_minute: int = 30  # per user
    answers_at_once: int = 2  # per user
    heartbeat_s: float = 15.0  # a silent stream sends a comment at least this often
    save_every_s: float = 0.6  # an answer being written is stored this often: a kill costs its last second at most
    stale_after_s: float = 10.0  # an answer without a sign of life for this long was interrupted
    event_log_ttl_s: int = 900  # how long a finished answer's events can be replayed
    event_log_answers: int = 500  # finished answers whose events one process keeps
    event_log_mib: int = 64  # memory that these may take together
    answer_timeout_s: float = 300.0  # the whole of one answer; beyond it, it has failed
    login_failures: int = 10  # wrong passwords per address and username within the window
    login_failures_per_address: int = 30  # wrong passwords per address, over all usernames, within the window
    login_failures_per_account: int = 20  # wrong passwords per username, over all unknown addresses, within the window
    login_window_s: int = 300  # over which failed logins are counted
    signups_per_hour: int = 300  # new accounts per address
    tokens_per_user: int = 50  # API tokens; above, the one that was used least recently gives way

    def __post_init__(self) -> None:
        check(self.message_chars >= 1, "message_chars must be positive")
        check(self.login_window_s >= 1, "login_window_s must be positive")
        for name in (
            "login_failures",
            "login_failures_per_address",
            "login_failures_per_account",
            "signups_per_hour",
            "tokens_per_user",
        ):
            check(getattr(self, name) >= 1, f"{name} must be positive")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaSettings:
    """What one user may take up. Staff and the site's own collections are free of it, but for running ingests."""

    storage_mib: int = 2048  # uploaded files of one user together; 0: no bound
    documents: int = 2000  # of one user; 0: no bound
    open_ingests: int = 1000  # documents of one user that wait or are being read; 0: no bound
    running_ingests: int = 0  # documents of one user that are read at once; 0: one less than there are workers

    def __post_init__(self) -> None:
        for name in ("storage_mib", "documents", "open_ingests", "running_ingests"):
            check(getattr(self, name) >= 0, f"{name} must not be negative")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    min_free_mib: int = 64  # with less room on the disk of the data or of the uploads, nothing new is taken in

    def __post_init__(self) -> None:
        check(self.min_free_mib >= 0, "min_free_mib must not be negative")
