"""Routes for logging in and out. There are no cookies: the caller keeps the tokens."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request

from memstone.engine.access.accounts import describe_account
from memstone.server.access import AuthenticatedRoute, Caller, admit_caller
from memstone.server.accounts import reception_of
from memstone.server.schemas.accounts import LoginBody, LogoutBody, PasswordBody, RefreshBody
from memstone.server.schemas.base import PROBLEMS, answer_form

router = APIRouter(prefix="/v1/auth", tags=["login"], responses=PROBLEMS, route_class=AuthenticatedRoute)

Anybody = Annotated[Caller, Depends(admit_caller)]


@router.post("/login", response_model=answer_form("AccountTokens"))
async def log_in(request: Request, body: LoginBody) -> Any:
    """Log in: get an access token, valid for minutes, and a refresh token, valid for days.

    The answer does not reveal whether the login or the password is wrong. Too many wrong attempts have to wait.
    """
    password = body.password.get_secret_value()
    return await reception_of(request).login(request, body.tenant_id, body.login, password)


@router.post("/refresh", response_model=answer_form("AccountTokens"))
async def refresh_tokens(request: Request, body: RefreshBody) -> Any:
    """Exchange a refresh token for a new pair; using it a second time ends the session."""
    return await reception_of(request).refresh(request, body.refresh_token.get_secret_value())


@router.post("/logout", response_model=answer_form("LogoutResult"))
async def log_out(request: Request, caller: Anybody, value: Annotated[LogoutBody | None, Body()] = None) -> Any:
    """End this session, or all sessions of the account."""
    everywhere = value is not None and value.everywhere
    return {"sessions_ended": await reception_of(request).logout(caller, everywhere=everywhere)}


@router.get("/me", response_model=answer_form("CallerInfo"))
async def get_current_caller(caller: Anybody) -> Any:
    """Return who the caller is, and what they may do."""
    who, person = caller.subjects, caller.person
    reach = {"user_id": who.user_id or None, "agent_id": who.agent_id or None, "verbs": list(caller.key.verbs)}
    if person is None:
        nobody = {"session_id": None, "expires_at": None, "account": None}
        return {"kind": "key", "tenant_id": caller.key.tenant_id, **reach, **nobody}
    session = {"session_id": person.session_id, "expires_at": person.until, "account": describe_account(person.account)}
    return {"kind": "account", "tenant_id": caller.key.tenant_id, **reach, **session}


@router.post("/password", response_model=answer_form("PasswordResult"))
async def change_password(request: Request, caller: Anybody, body: PasswordBody) -> Any:
    """Change your own password; every other session of the account ends."""
    old, new = body.current.get_secret_value(), body.new.get_secret_value()
    return await reception_of(request).change_password(request, caller, old, new)
