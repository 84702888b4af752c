"""One request to the console: who is signed in, what they may do, and the answer.

A page is a function that takes a ``Visit``. ``Pages`` admits whoever calls it, checks the permission that the page
declares and the token of its form, and answers every error with a page that says what to do.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeAlias, TypeVar
from urllib.parse import urlsplit

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

import memstone
from memstone.engine.access.accounts import AuthenticatedAccount
from memstone.engine.access.console_access import ConsoleSession, authenticate_console, csrf_token
from memstone.errors import (
    AccessError,
    Forbidden,
    InvalidInput,
    MemstoneError,
    NotFoundError,
    ScopeError,
    StorageBusy,
    StorageError,
    StorageFull,
    StorageReadOnly,
    TooManyRequests,
    Unauthenticated,
    UsageError,
)
from memstone.model.access import Verb
from memstone.server.access import Caller, is_bound, resolve_scope
from memstone.server.console.templates import make_environment
from memstone.server.errors import error_for_caller, handle_unexpected_error, log_server_fault, status_of

if TYPE_CHECKING:
    from memstone.api.aio.verbs import AsyncMemoryVerbs
    from memstone.engine.runtime import Runtime
    from memstone.server.state import ServiceState

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS: Final = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",  # with none at all a browser hides the origin of our own forms
    "vary": "Cookie, HX-Request",
}
SIGN_IN: Final = "/console/sign-in"
THEMES: Final = ("system", "light", "dark")
THEME_COOKIE: Final = "memstone_theme"
_TOASTS: Final = 1_000
_FIELDS: Final = 1_000

P = ParamSpec("P")
T = TypeVar("T")
PageHandler: TypeAlias = Callable[..., Awaitable[Response]]


# --- navigation -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NavItem:
    """An entry of the navigation; ``tenant`` ones are only for who reaches everybody."""

    label: str
    path: str
    icon: str
    tenant: bool = False
    verb: Verb = Verb.READ


# --- messages after an act --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Toast:
    """A message that the next page shows; with ``events`` or ``job_id`` it offers to take the act back."""

    message: str
    tone: str = "ok"
    events: tuple[str, ...] = ()
    job_id: str = ""

    @property
    def can_undo(self) -> bool:
        """Whether it offers that."""
        return bool(self.events or self.job_id)


class Toasts:
    """Messages that wait for the next page of a session; a few, and in this process."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[tuple[str, str], Toast] = OrderedDict()

    def add(self, session_id: str, toast: Toast) -> str:
        """Keep a message, and return what the next page finds it by."""
        name = secrets.token_urlsafe(9)
        self._waiting[session_id, name] = toast
        if len(self._waiting) > _TOASTS:
            self._waiting.popitem(last=False)
        return name

    def get(self, session_id: str, name: str) -> Toast | None:
        """Return a message of a session; nobody sees another's."""
        return self._waiting.get((session_id, name))

    def remove(self, session_id: str, name: str) -> None:
        """Forget a message, because what it offered was done."""
        self._waiting.pop((session_id, name), None)


# --- the console of one service ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Console:
    """What the pages of one running service share."""

    state: ServiceState
    navigation: Sequence[NavItem]
    toasts: Toasts = field(default_factory=Toasts)
    templates: Any = field(default_factory=make_environment)
    figures: dict[Any, tuple[float, Any]] = field(default_factory=dict)

    async def admit(self, request: Request) -> Visit:
        """Return the visit of whoever is signed in, within their rate; raise ``Unauthenticated`` for anybody else."""
        token = request.cookies.get(cookie_name(request), "")
        if not token:
            raise Unauthenticated("you are not signed in", hint="sign in with the link that `memstone serve` prints")
        session = await self.state.memory.engine.ask(authenticate_console, token)
        known = session.account and AuthenticatedAccount(session.key, session.account, "", session.until)
        caller = self.state.doorkeeper.caller_for(known or session.key)
        self.state.rate.take(session.key.id)
        request.state.caller = caller
        return Visit(request, self, session, caller, token)

    def expire_figures(self, tenant_id: str) -> None:
        """Let the figures of a tenant be counted again: whoever changes something sees it counted."""
        for place, (_, figures) in list(self.figures.items()):
            if place[0].tenant_id == tenant_id:
                self.figures[place] = 0.0, figures

    def render(self, request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page; also for somebody who is not signed in."""
        shared = {"visit": None, "version": memstone.__version__, "theme": theme_of(request), "title": "", "nav": ()}
        text = self.templates.get_template(template).render(request=request, **{**shared, **values})
        return HTMLResponse(text, status, headers=PAGE_HEADERS)


def console_of(request: Request) -> Console:
    """Return the console of the running service."""
    console: Console = request.app.state.console
    return console


def cookie_name(request: Request) -> str:
    """Return the name of the session's cookie.

    Cookies do not tell ports apart, and several services may share a host.
    """
    return f"memstone_console_{request.url.port or 'default'}"


def theme_of(request: Request) -> str:
    """Return the colours that somebody chose."""
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else THEMES[0]


def local_path(text: str, default: str = "/") -> str:
    """Return a path of this console, whoever wrote it; anything else is replaced by the default."""
    parts = urlsplit(text)
    is_local = text.startswith("/") and not text.startswith("//") and not (parts.scheme or parts.netloc)
    return text if is_local and "\\" not in text and text.isprintable() else default


class NobodyNamed(ScopeError):
    """A page has to be told whose memory it shows; it is answered with the question."""

    code = "nobody_named"
    default_hint = "type the id of a person"


# --- one visit --------------------------------------------------------------------------------------------------------


@dataclass
class Visit:
    """One request of somebody who is signed in."""

    request: Request
    console: Console
    session: ConsoleSession
    caller: Caller
    token: str
    form: FormData = field(default_factory=FormData)
    trouble: str | None = None
    """Why nothing can be stored right now, in a word; None while it can."""

    @property
    def memory(self) -> AsyncMemoryVerbs:
        """The memory, as far as this visitor reaches it."""
        return self.caller.memory

    async def run(self, verb: Callable[Concatenate[Runtime, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Carry out what a module of the engine knows how to do, as far as this visitor reaches."""
        return await self.caller.engine.run(verb, *args, **kwargs)

    @cached_property
    def csrf(self) -> str:
        """What every form of this session holds."""
        return csrf_token(self.token)

    @property
    def person(self) -> str:
        """The one person whose memory this visitor sees; '' for who sees others."""
        return self.caller.bounds.user_id

    @property
    def sees_everybody(self) -> bool:
        """Whether a page may show all people at once."""
        return self.can(Verb.ADMIN) and self.caller.bounds.is_open

    @property
    def sees_texts(self) -> bool:
        """Whether texts are shown in full, and not without addresses and numbers: to the person, and to who edits."""
        return bool(self.person) or self.can(Verb.WRITE)

    @property
    def here(self) -> str:
        """The address of this page, without what it says only once."""
        return address_of(self.request)

    @property
    def is_htmx(self) -> bool:
        """Whether a part of a page is asked for, and not the page."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def name(self) -> str:
        """What to call the visitor."""
        account = self.session.account
        return (account.name or account.login) if account else self.person or "Operator"

    @property
    def role(self) -> str:
        """What the visitor is, in words."""
        account = self.session.account
        if account is not None:
            return account.role.value
        sees = "own memory" if self.person else "whole tenant"
        return sees if self.can(Verb.WRITE) else f"{sees}, read only"

    def can(self, verb: str) -> bool:
        """Return whether the visitor has a permission."""
        return verb in self.caller.key.verbs

    def query(self, name: str, default: str = "") -> str:
        """Return a parameter of the address; '' when it is not there."""
        return self.request.query_params.get(name, default).strip()

    def field(self, name: str, default: str = "") -> str:
        """Return a text field of the form."""
        value = self.form.get(name, default)
        return value.replace("\r\n", "\n") if isinstance(value, str) else default

    def fields(self, name: str) -> list[str]:
        """Return every value that a form has for a name, as of many checkboxes."""
        return [value for value in self.form.getlist(name) if isinstance(value, str)]

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """Return a number of the address, within bounds."""
        text = self.query(name) or str(default)
        if not text.isascii() or not text.isdigit() or not least <= int(text[:12]) <= most:
            raise InvalidInput(f"{name} must be a number from {least} to {most}")
        return int(text)

    def scope(self) -> dict[str, Any]:
        """Return the scope that the address names, as keywords of a call; everybody where that is allowed."""
        named = {"user_id": self.query("user"), "agent_id": self.query("agent"), "run_id": self.query("session")}
        if not any(named.values()) and not self.sees_everybody and not is_bound(self.caller):
            raise NobodyNamed("your account sees the memory of one person at a time")
        return resolve_scope(self.caller, named)

    async def check_form(self) -> None:
        """Read the form, and go on only if it was made for this session."""
        self.form = await self.request.form(max_files=1, max_fields=_FIELDS)
        sent = self.request.headers.get("x-csrf-token") or self.field("csrf")
        if not hmac.compare_digest(sent.encode(), self.csrf.encode()):
            raise Forbidden(
                "this form was not made for your session", hint="reload the page you came from, and send it again"
            )

    def render(self, template: str, *, title: str, status: int = 200, **values: Any) -> Response:
        """Return a page for the visitor."""
        shown = self.console.toasts.get(self.caller.key.id, self.query("toast"))
        shared = {"visit": self, "title": title, "nav": self.navigation(), "toast": shown}
        return self.console.render(self.request, template, status, **shared, **values)

    def finish(self, message: str, back: str, *, events: Sequence[str] = (), job_id: str = "") -> Response:
        """Answer an act: go back to a page, which says what was done and offers to take it back."""
        return self.leave(back, Toast(message, events=tuple(events), job_id=job_id))

    done = finish

    def leave(self, back: str, toast: Toast | None = None) -> Response:
        """Go to another page of the console, with a message."""
        path = local_path(self.field("back") or back, back)
        if toast is not None:
            name = self.console.toasts.add(self.caller.key.id, toast)
            base = _without_parameter(path, "toast")
            path = f"{base}{'&' if '?' in base else '?'}toast={name}"
        return RedirectResponse(path, HTTPStatus.SEE_OTHER, headers=PAGE_HEADERS)

    def navigation(self) -> list[NavItem]:
        """Return where the visitor may go."""
        items = self.console.navigation
        return [one for one in items if self.can(one.verb) and (self.sees_everybody or not one.tenant)]


def address_of(request: Request) -> str:
    """Return the address of a page within the service, without what it says only once."""
    url = request.url
    return _without_parameter(f"{url.path}?{url.query}" if url.query else url.path, "toast")


def _without_parameter(path: str, name: str) -> str:
    base, _, query = path.partition("?")
    left = "&".join(part for part in query.split("&") if part and not part.startswith(f"{name}="))
    return f"{base}?{left}" if left else base


# --- pages and acts ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PageRoute:
    """One page or act: where it is, and what it takes to be let in."""

    path: str
    method: str
    handler: PageHandler
    verb: Verb
    tenant: bool


class Pages:
    """A family of pages. Each says what permission it takes; there is no page without one."""

    def __init__(self) -> None:
        self.declared: list[PageRoute] = []

    def page(self, path: str, verb: Verb = Verb.READ, *, tenant: bool = False) -> Callable[[PageHandler], PageHandler]:
        """Declare a page that is read; ``tenant`` is for who reaches everybody."""
        return partial(self._declare, path, "GET", verb, tenant)

    def act(self, path: str, verb: Verb = Verb.WRITE, *, tenant: bool = False) -> Callable[[PageHandler], PageHandler]:
        """Declare a change: sent by a form that was made for the session."""
        return partial(self._declare, path, "POST", verb, tenant)

    def _declare(self, path: str, method: str, verb: Verb, tenant: bool, handler: PageHandler) -> PageHandler:  # noqa: FBT001 - given by the two above
        self.declared.append(PageRoute(path, method, handler, verb, tenant))
        return handler

    @property
    def routes(self) -> list[Route]:
        """The routes of the family."""
        return [Route(one.path, partial(_answer, one), methods=[one.method], name="console") for one in self.declared]


async def _answer(route: PageRoute, request: Request) -> Response:
    """Admit, check, and pass; whatever goes wrong becomes a page."""
    visit: Visit | None = None
    request.scope["route"] = route  # by which log, metrics and activity name the request
    try:
        visit = await console_of(request).admit(request)
        visit.caller.needs(route.verb)
        if route.tenant:
            visit.caller.needs_tenant()
        if route.method != "GET":
            await visit.check_form()
        elif not visit.is_htmx:
            visit.trouble = await visit.console.state.writable.reason()
        return await route.handler(visit, **request.path_params)
    except StorageError as error:
        if visit is not None and route.method != "GET" and type(error) in _UNWRITABLE:
            visit.trouble = await visit.console.state.writable.reason() or error.code
        return error_page(request, error, visit)
    except MemstoneError as error:
        return error_page(request, error, visit)
    except Exception as error:  # noqa: BLE001 - a page for people, and the log has the rest
        await handle_unexpected_error(request, error)
        return error_page(request, MemstoneError("something went wrong on the server"), visit)
    finally:
        if visit is not None:
            await visit.form.close()
            if route.method != "GET" and route.verb is not Verb.READ:
                visit.console.expire_figures(visit.caller.bounds.tenant_id)


_UNWRITABLE: Final = frozenset({StorageError, StorageReadOnly, StorageFull, StorageBusy})
"""What an act meets while the store cannot be written; a disk that fails or is mounted anew raises the first."""


def error_page(request: Request, error: MemstoneError, visit: Visit | None = None) -> Response:
    """Return the page for an error: what happened, and what to do now."""
    console = console_of(request)
    status = HTTPStatus.INTERNAL_SERVER_ERROR if type(error) is MemstoneError else HTTPStatus(status_of(error))
    if visit is None and isinstance(error, Unauthenticated):
        return sign_in_page(request, status=HTTPStatus.UNAUTHORIZED)
    log_server_fault(error)
    heading, message, hint = _describe_error(request, error, visit)
    values = {
        "code": int(status),
        "heading": heading,
        "message": message,
        "hint": hint or _what_to_do(status),
        "request_id": getattr(request.state, "request_id", ""),
        "again": _way_back(request, visit),
    }
    template, status = ("choose.html", HTTPStatus.OK) if isinstance(error, NobodyNamed) else ("error.html", status)
    shared = {"visit": visit, "nav": visit.navigation() if visit else (), "toast": None}
    return console.render(request, template, int(status), title=values["heading"], **shared, **values)


def _way_back(request: Request, visit: Visit | None) -> str:
    """Return where to try again: the page itself, or the one from which a form was sent."""
    if request.method == "GET":
        return request.url.path
    return local_path(visit.field("back") if visit is not None else "/")


_NO_ACCESS: Final = "ask whoever runs this service for access"


def _describe_error(request: Request, error: MemstoneError, visit: Visit | None) -> tuple[str, str, str]:
    """Return what an error page says: heading, message and hint. Why nothing can be saved is above them."""
    if visit is not None and visit.trouble and request.method != "GET" and type(error) in _UNWRITABLE:
        return "This was not saved", "the store cannot be written right now", "go back, and try again when it can"
    told = error_for_caller(error)
    if visit is not None and isinstance(error, Forbidden):  # who is here has no key
        told = {**told, "message": told["message"].replace("this key", "your sign-in"), "hint": _NO_ACCESS}
    heading = next((text for kind, text in _HEADINGS if isinstance(error, kind)), "That did not work")
    return heading, told["message"], told.get("hint") or ""


_HEADINGS: Final[Sequence[tuple[type[Exception], str]]] = (
    (NotFoundError, "Nothing is here"),
    (NobodyNamed, "Whose memory?"),
    (TooManyRequests, "A little slower, please"),
    (AccessError, "You cannot do that"),
    (UsageError, "Something you sent is not right"),
    (StorageBusy, "The store is busy"),
    (StorageError, "The store cannot be used right now"),
)


def _what_to_do(status: HTTPStatus) -> str:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "try again; if it happens again, look for the request id in the log of `memstone serve`"
    return "go back and try something else"


def sign_in_page(request: Request, *, problem: str = "", hint: str = "", status: int = 200) -> Response:
    """Return the page where people sign in; where they wanted to go they are led afterwards."""
    is_page = request.method == "GET" and request.url.path != SIGN_IN
    here = address_of(request) if is_page else "/"
    wanted = request.query_params.get("next") or here
    values = {"problem": problem, "hint": hint, "next": local_path(wanted), "toast": None}
    page = console_of(request).render(request, "sign_in.html", int(status), title="Sign in", **values)
    if request.headers.get("hx-request") == "true":  # a part of a page was asked for: load the whole, which is this one
        page.headers["HX-Refresh"] = "true"
    return page
