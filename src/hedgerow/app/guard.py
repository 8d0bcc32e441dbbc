"""Access control of the app: only this computer's browser, from the app's own pages, with the cookie.

Source     own; docs/app.md lists what was tried against it
Guarantee  another Host is refused (421), so a name that is rebound to this machine reads nothing; without the cookie
           nothing is answered (403); a post must come from a page of this very port, by Origin and by Sec-Fetch-Site
           (403), since another port of the same machine is the same site; bodies are bounded and of known length (413)

Plain ASGI, so that streams stay streams.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from hedgerow.randomness import token

LARGEST_UPLOAD = 64 << 20
LARGEST_FORM = 1 << 20
UPLOADS = ("/table/upload",)
_ENVELOPE = 16 << 10
"""What a browser writes around an uploaded file."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
"""What a page may load: its own script, stylesheet and pictures; `connect-src` is for progress."""

_HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "same-origin",  # no-referrer would make browsers send `Origin: null` with posts
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """Stands before an application on one port; `entry` is the path that lets a browser in."""

    def __init__(self, application: Application, port: int) -> None:
        self._application = application
        self._token, self._session = token(24), token(24)
        self._cookie = f"hedgerow-{port}"
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    @property
    def entry(self) -> str:
        """The path that gives a browser its cookie."""
        return f"/?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse before anything of the application runs."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = _headers(scope)
        if self._is_entry(scope, headers):
            cookie = f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, b"", {"location": "/", "set-cookie": cookie})
            return
        refused = self._refusal(scope, headers)
        if refused is not None:
            await _answer(send, *refused, {"connection": "close"})
            return
        await self._application(scope, _limit_body(receive, _limit(scope)), _with_headers(send))

    def _is_entry(self, scope: Scope, headers: dict[str, list[str]]) -> bool:
        if scope["path"] != "/" or scope["method"] != "GET" or not self._is_own_host(headers):
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return len(given) == 1 and hmac.compare_digest(given[0].encode(), self._token.encode())

    def _is_own_host(self, headers: dict[str, list[str]]) -> bool:
        hosts = headers.get("host", [])
        return len(hosts) == 1 and hosts[0] in self._hosts

    def _refusal(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[int, bytes] | None:
        if not self._is_own_host(headers):
            return 421, b"This address is not the app's.\n"
        if headers.get("sec-fetch-site", ["none"]) not in (["same-origin"], ["none"]):
            return 403, b"Another page asked for this.\n"
        if not self._has_cookie(headers):
            return 403, b"Open the address that `hedgerow app` printed: it lets this browser in.\n"
        if scope["method"] in ("GET", "HEAD"):
            return None
        if scope["method"] != "POST":
            return 405, b"The app knows GET and POST.\n"
        if headers.get("origin") != [f"http://{headers['host'][0]}"]:
            return 403, b"Another page asked for this.\n"
        sizes = headers.get("content-length", [])
        if "transfer-encoding" in headers or len(sizes) != 1 or not sizes[0].isascii() or not sizes[0].isdigit():
            return 413, b"A post must say its length.\n"
        if int(sizes[0]) > _limit(scope):
            return 413, b"This is too large to be uploaded; name the file's path instead.\n"
        return None

    def _has_cookie(self, headers: dict[str, list[str]]) -> bool:
        try:
            cookies = SimpleCookie("; ".join(headers.get("cookie", [])))
        except CookieError:
            return False
        given = cookies[self._cookie].value if self._cookie in cookies else ""
        return hmac.compare_digest(given.encode(), self._session.encode())


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _limit(scope: Scope) -> int:
    return LARGEST_UPLOAD + _ENVELOPE if scope["path"] in UPLOADS else LARGEST_FORM


def _limit_body(receive: Receive, limit: int) -> Receive:
    """Cut a body off that is longer than it said."""
    left = limit

    async def receive_within() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return receive_within


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.decode("latin-1").lower() for name, _ in message["headers"]}
            more = [(n.encode(), v.encode()) for n, v in _HEADERS.items() if n not in given]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return send_with_headers


async def _answer(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    said = {"content-type": "text/plain; charset=utf-8", "content-length": str(len(body))} | headers
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [(name.encode(), value.encode()) for name, value in said.items()],
    }
    await _with_headers(send)(start)
    await send({"type": "http.response.body", "body": body})
