"""What can go wrong when a model is asked.

    ClefError
    ├── EndpointError           scope "endpoint": the item is fine and waits
    │   ├── EndpointBusy            retry     busy
    │   ├── EndpointFailed          retry     server
    │   ├── EndpointUnreachable     retry     unreachable
    │   ├── QuotaExhausted          no retry  quota
    │   └── EndpointMisconfigured   no retry  config
    └── ItemError               scope "item": this item goes to people
        ├── RequestRefused          no retry  bad_input, bug or images_unread
        ├── RequestTooLarge         no retry  too_large
        └── InvalidReply            retry     invalid_reply

`retry` says whether asking again may help; the client has already spent its budget when one is raised.
No error ever holds the state or anything a server echoed of it.
"""

from __future__ import annotations

from typing import Literal

Scope = Literal["item", "endpoint"]
Reason = Literal[
    "busy",
    "quota",
    "config",
    "bad_input",
    "bug",
    "server",
    "unreachable",
    "invalid_reply",
    "too_large",
    "images_unread",
]


class ClefError(Exception):
    """`code` is the server's own (as text) or a short word of ours.

    `retry_after_s` is what the server asked for, `attempts` how often it was asked before giving up,
    `worthwhile_retries` a bound of this failure's own on asking again (None: the caller's budget).
    """

    scope: Scope
    reason: Reason
    retry: bool = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        http_status: int | None = None,
        retry_after_s: float | None = None,
        request_id: str | None = None,
        reason: Reason | None = None,
    ) -> None:
        # Only `message` is positional and required, so that the error survives pickling between processes.
        super().__init__(message)
        self.message = message
        self.code = code
        self.http_status = http_status
        self.retry_after_s = retry_after_s
        self.request_id = request_id
        self.attempts = 0
        self.worthwhile_retries: int | None = None
        if reason is not None:
            self.reason = reason


class EndpointError(ClefError):
    scope: Scope = "endpoint"


class EndpointBusy(EndpointError):
    reason: Reason = "busy"
    retry = True


class EndpointFailed(EndpointError):
    reason: Reason = "server"
    retry = True


class EndpointUnreachable(EndpointError):
    reason: Reason = "unreachable"
    retry = True


class QuotaExhausted(EndpointError):
    """The allowance is used up; Cloudflare documents its return for 00:00 UTC."""

    reason: Reason = "quota"


class EndpointMisconfigured(EndpointError):
    reason: Reason = "config"


class ItemError(ClefError):
    scope: Scope = "item"


class RequestRefused(ItemError):
    """`reason` is bad_input when the item is at fault, bug when its questions or this code are, and images_unread
    when it has images and is not asked without them."""

    reason: Reason = "bad_input"


class RequestTooLarge(ItemError):
    """`size_bytes` and `limit_bytes` are known when the refusal is ours, before anything was sent."""

    reason: Reason = "too_large"
    size_bytes: int | None = None
    limit_bytes: int | None = None


class InvalidReply(ItemError):
    reason: Reason = "invalid_reply"
    retry = True
