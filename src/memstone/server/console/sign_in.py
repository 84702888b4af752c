"""Sign in and out: by link, by code, or with an account; and the choice of colours."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from memstone.engine.access.accounts import read_long
from memstone.engine.access.console_access import end_console_session, open_account_session, redeem_code, redeem_link
from memstone.errors import Forbidden, MemstoneError, StorageError, Unauthenticated
from memstone.model.access import Verb
from memstone.server.accounts import reception_of
from memstone.server.console.visit import (
    PAGE_HEADERS,
    SIGN_IN,
    THEME_COOKIE,
    THEMES,
    Pages,
    Visit,
    console_of,
    cookie_name,
    error_page,
    local_path,
    sign_in_page,
)
from memstone.server.errors import log_server_fault, status_of

pages = Pages()

_YEAR: Final = 365 * 86_400
_UNWRITABLE: Final = "the store cannot be written right now"
_NOT_OPENED: Final = (
    "nobody can sign in until the user who runs memstone serve can write to its file and folder; "
    "then use the same link, code or password again"
)
_NOT_ENDED: Final = "you are signed out in this browser; the session itself ends when it expires"
_SAME_SITE: Final = ("same-origin", "none", "")


async def _show_sign_in(request: Request) -> Response:
    """Show where to sign in."""
    return sign_in_page(request)


async def _sign_in(request: Request) -> Response:
    """Open a session for whoever sends a link, a code, or a login with its password."""
    failures = console_of(request).state.failures
    try:
        if request.headers.get("sec-fetch-site", "") not in _SAME_SITE:
            raise Forbidden("this form was sent from another site", hint="open the console itself, and sign in there")
        failures.check(request)
        form = await request.form(max_files=0, max_fields=10)
        token = await _open_session(request, form)
    except Unauthenticated as error:
        if not _field(await request.form(), "login"):  # a wrong password was counted by the reception
            failures.note(request)
        return sign_in_page(request, problem=error.message, hint=error.hint, status=status_of(error))
    except StorageError as error:
        log_server_fault(error)
        return sign_in_page(request, problem=_UNWRITABLE, hint=_NOT_OPENED, status=status_of(error))
    except MemstoneError as error:
        return error_page(request, error)
    wanted = local_path(_field(form, "next") or "/")
    answer = RedirectResponse(wanted, HTTPStatus.SEE_OTHER, headers=PAGE_HEADERS)
    secure = request.url.scheme == "https"
    answer.set_cookie(cookie_name(request), token, path="/", httponly=True, samesite="strict", secure=secure)
    return answer


async def _open_session(request: Request, form: FormData) -> str:
    """Return the token of a new session, or raise ``Unauthenticated``."""
    state = console_of(request).state
    link, code, login = (_field(form, name) for name in ("link", "code", "login"))
    if link:
        return await state.memory.engine.run(redeem_link, link.removeprefix("#"))
    if code:
        return await state.memory.engine.run(redeem_code, code)
    if not login:
        raise Unauthenticated("nothing was sent", hint="paste a link, type a code, or log in with an account")
    tenant, password = _field(form, "tenant"), form.get("password")
    answer = await reception_of(request).login(
        request, tenant or None, login, password if isinstance(password, str) else ""
    )
    session = read_long(answer["refresh_token"])
    engine = state.memory.acting_for(session.tenant_id).engine
    hours = state.settings.server.console.session_hours
    return await engine.run(open_account_session, answer["account"]["id"], session.session_id, hours)


def _field(form: FormData, name: str) -> str:
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


@pages.act("/console/sign-out", Verb.READ)
async def sign_out(visit: Visit) -> Response:
    """End the session."""
    answer: Response = RedirectResponse(SIGN_IN, HTTPStatus.SEE_OTHER, headers=PAGE_HEADERS)
    try:
        await visit.console.state.memory.engine.run(end_console_session, visit.token)
    except StorageError as error:
        log_server_fault(error)
        answer = sign_in_page(visit.request, problem=_UNWRITABLE, hint=_NOT_ENDED, status=status_of(error))
    visit.console.state.doorkeeper.forget()
    answer.delete_cookie(cookie_name(visit.request), path="/", httponly=True, samesite="strict")
    return answer


@pages.act("/console/theme", Verb.READ)
async def choose_theme(visit: Visit) -> Response:
    """Keep which colours somebody wants: light, dark, or those of their system."""
    chosen = visit.field("theme")
    answer = visit.leave("/")
    value = chosen if chosen in THEMES else THEMES[0]
    answer.set_cookie(THEME_COOKIE, value, max_age=_YEAR, path="/", httponly=True, samesite="strict")
    return answer


ROUTES: Final = (
    Route(SIGN_IN, _show_sign_in, methods=["GET"], name="console"),
    Route(SIGN_IN, _sign_in, methods=["POST"], name="console"),
)
"""The two routes that are for everybody."""
