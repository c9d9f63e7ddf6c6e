"""The rules for who may use a server: names of this machine, pages of other sites, and a key."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Container
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from .messages import RequestError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""The names of this machine."""
KEY_VARIABLE = "VLLM_API_KEY"
"""The environment variable with the server's key. vLLM reads the same one."""
KEYED = ("/v1/", "/tokenize", "/detokenize")
"""The beginnings of the paths that need the key, if there is one. The page, which asks for the key, is open, and so is /health."""


Refused = Callable[[Scope, int], None]
"""A function that gets each refused request and its status."""


@dataclass(frozen=True)
class Access:
    """The rules of one server.

    hosts: the allowed names in clients' Host header, without a port; None allows any name. key: the key that clients must send; None for no
    key. origins: the other sites whose pages may use the server, each as a browser names it in Origin. routed: whether all clients come
    through a router, which says their addresses in X-Forwarded-For. Raises ValueError for a key or an origin that no client could send.
    """

    hosts: Container[str] | None = None
    key: str | None = None
    origins: tuple[str, ...] = ()
    routed: bool = False

    def __post_init__(self) -> None:
        if self.key is not None and not re.fullmatch(r"[!-~]+", self.key):
            raise ValueError(f"the key ({KEY_VARIABLE}, or --api-key) must be ASCII characters without spaces, at least one")
        for origin in self.origins:
            if not re.fullmatch(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]+)?", origin):
                raise ValueError(f"--cors {origin:.80}: give a site's origin, such as https://example.org or http://localhost:3000")

    def middleware(self, refused: Refused) -> list[Middleware]:
        """Return the rules as an application's middleware, outermost first. refused: called for each request that a rule refuses."""
        rules = [Middleware(OnlyOwnPages, hosts=self.hosts, origins=self.origins, refused=refused)]
        if self.origins:
            rules.append(
                Middleware(
                    CORSMiddleware, allow_origins=self.origins, allow_methods=["GET", "POST"], allow_headers=["*"],
                    expose_headers=["Retry-After"],
                )
            )  # fmt: skip
        if self.key is not None:
            rules.append(Middleware(OnlyWithKey, key=self.key, refused=refused))
        return rules


ANYBODY = Access()
"""The rules of a server that every program may use."""


class OnlyOwnPages:
    """Middleware that refuses requests that a browser sends for a page of another site, unless the site is one of `origins`.

    Such a page can give its own domain name the address 127.0.0.1 (DNS rebinding), so the browser treats this server as the page's site.
    Host is then that domain name. The page can also send a cross-site request. Origin then differs from Host. Programs send no Origin.
    """

    def __init__(self, app: ASGIApp, hosts: Container[str] | None, origins: Container[str], refused: Refused) -> None:
        self.app, self.hosts, self.origins, self.refused = app, hosts, origins, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or (error := self.error(scope["method"], Headers(scope=scope))) is None:
            await self.app(scope, receive, send)
        else:
            self.refused(scope, error.status)
            await JSONResponse(error.body, error.status)(scope, receive, send)

    def error(self, method: str, headers: Headers) -> RequestError | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.hosts is not None and without_port(host) not in self.hosts:
            return RequestError(f"this server is not called {host!r:.100}: use 127.0.0.1 or localhost", status=403, code="unknown_host")
        if origin is not None and origin in self.origins:
            return None
        cross_site = method == "POST" and headers.get("sec-fetch-site") == "cross-site"
        if cross_site or (origin is not None and origin.partition("://")[2] != host):
            return RequestError("pages of other sites may not use this server", status=403, code="cross_site")
        return None


def without_port(host: str) -> str:
    """Return the name in a Host header: `localhost` of `localhost:8000`, `::1` of `[::1]:8000`."""
    return (host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]).lower()


class OnlyWithKey:
    """Middleware that refuses requests for an answer without the key, sent as `Authorization: Bearer KEY`."""

    def __init__(self, app: ASGIApp, key: str, refused: Refused) -> None:
        self.app, self.digest, self.refused = app, digest(key), refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(KEYED) and not self.admits(Headers(scope=scope).get("authorization", "")):
            self.refused(scope, 401)
            error = RequestError("send the server's key: Authorization: Bearer KEY", status=401, code="invalid_api_key")
            await JSONResponse(error.body, error.status, headers={"WWW-Authenticate": "Bearer"})(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def admits(self, authorization: str) -> bool:
        """Compare in a time that tells nothing about the key, not even its length."""
        scheme, _, key = authorization.partition(" ")
        return hmac.compare_digest(digest(key.strip()), self.digest) and scheme.lower() == "bearer"


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("latin-1")).digest()
