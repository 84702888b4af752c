"""Log in: compare passwords a few at a time, with a limit on wrong ones."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from starlette.requests import Request

from memstone.engine.access import accounts
from memstone.engine.access.accounts import is_login, parse_login
from memstone.engine.engine import Engine
from memstone.errors import Forbidden, TooManyRequests, Unauthenticated
from memstone.model.access import Lifetimes
from memstone.sections_service import AccountSettings
from memstone.server.access import Caller
from memstone.server.limits import Failures, address_of
from memstone.server.observe import log
from memstone.server.state import ServiceState

_AT_ONCE: Final = 2
_WAITING: Final = 32
_LOGINS: Final = 10_000
_MINUTE: Final = 60.0
_DAY: Final = 86_400

Login: TypeAlias = tuple[str, str]
"""A tenant, and a login in it."""

ResultT = TypeVar("ResultT")
Value = TypeVar("Value")


class Guesses:
    """How often a password was wrong in a row, by login, whether or not there is such an account.

    When it was wrong too often, wherever that came from, each address may try this login once a minute: many addresses
    together guess slowly, and nobody can keep a person from trying. An address from which somebody has logged in with
    this login before does not notice.
    """

    def __init__(self, most: int, now: Callable[[], float] = time.monotonic) -> None:
        self._most, self._now = most, now
        self._wrong: OrderedDict[Login, int] = OrderedDict()
        self._tried: OrderedDict[tuple[Login, str], float] = OrderedDict()
        self._known: OrderedDict[tuple[Login, str], None] = OrderedDict()

    def check(self, login: Login, address: str) -> None:
        """Raise ``TooManyRequests`` when it was wrong too often, and this address has just tried."""
        if self._wrong.get(login, 0) < self._most or (login, address) in self._known:
            return
        wait = self._tried.get((login, address), -_MINUTE) + _MINUTE - self._now()
        if wait > 0:
            raise TooManyRequests(
                "too many wrong passwords for this login", retry_after=wait, hint="wait for the time in Retry-After"
            )

    def note(self, login: Login, address: str, *, right: bool) -> None:
        """Count one that was wrong; one that is right makes up for all, and its address is known from then on."""
        if right:
            self._wrong.pop(login, None)
            _store_newest(self._known, (login, address), None)
            return
        _store_newest(self._wrong, login, self._wrong.get(login, 0) + 1)
        _store_newest(self._tried, (login, address), self._now())
        if self._wrong[login] == self._most:
            log.warning("account.guessed", tenant=login[0], wrong=self._most)


def _store_newest(table: OrderedDict[ResultT, Value], name: ResultT, value: Value) -> None:
    """Keep a value as the newest; when there are too many the oldest goes."""
    table[name] = value
    table.move_to_end(name)
    if len(table) > _LOGINS:
        table.popitem(last=False)


class Reception:
    """Where people log in and out of one running service."""

    def __init__(self, state: ServiceState) -> None:
        settings = state.settings.server.accounts
        self._state, self._lifetimes = state, lifetimes_of(settings)
        self._guesses = Guesses(settings.failures)
        self._desk = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0

    async def login(self, request: Request, tenant_id: str | None, login: str, password: str) -> dict[str, Any]:
        """Return a session for whoever knows the password."""
        who = (tenant_id or self._state.settings.tenant, parse_login(login) if is_login(login) else "")
        engine = self._engine_of(who[0])
        answer = await self._run_password_check(
            request, who, lambda: engine.run(accounts.login_account, login, password, self._lifetimes)
        )
        log.info("account.login", account=answer["account"]["id"])
        return answer

    async def refresh(self, request: Request, token: str) -> dict[str, Any]:
        """Return other tokens for one that is used up by it."""
        self._failures.check(request)
        try:
            return await self._engine_of(None).run(
                accounts.refresh_session, token, self._lifetimes, self._state.doorkeeper.forget
            )
        except Unauthenticated as error:
            log.warning("account.refused", reason=error.message)
            self._failures.note(request)
            raise

    async def logout(self, caller: Caller, *, everywhere: bool) -> int:
        """End the session of a caller, or all of theirs."""
        person = person_of(caller)
        engine = self._engine_of(caller.key.tenant_id)
        ended = await engine.run(accounts.logout_account, person.account, person.session_id, everywhere=everywhere)
        self._state.doorkeeper.forget()
        return ended

    async def change_password(self, request: Request, caller: Caller, old: str, new: str) -> dict[str, Any]:
        """Let a caller change their own password."""
        person = person_of(caller)
        engine, account = self._engine_of(caller.key.tenant_id), person.account
        answer = await self._run_password_check(
            request,
            (account.tenant_id, account.login),
            lambda: engine.run(accounts.change_password, account, person.session_id, old, new),
        )
        self._state.doorkeeper.forget()
        return answer

    async def _run_password_check(
        self, request: Request, who: tuple[str, str], work: Callable[[], Any]
    ) -> dict[str, Any]:
        """Do what compares a password: few at a time, since each is much work, and no more than may be guessed."""
        address = address_of(request)
        self._failures.check(request)
        self._guesses.check(who, address)
        if self._waiting >= _WAITING:
            raise TooManyRequests("too many logins at once", retry_after=1.0, hint="try again in a moment")
        self._waiting += 1
        try:
            async with self._desk:
                answer: dict[str, Any] = await work()
        except Unauthenticated as error:
            log.warning("account.refused", reason=error.message)
            self._failures.note(request)
            self._guesses.note(who, address, right=False)
            raise
        finally:
            self._waiting -= 1
        self._guesses.note(who, address, right=True)
        return answer

    @property
    def _failures(self) -> Failures:
        return self._state.failures

    def _engine_of(self, tenant_id: str | None) -> Engine:
        """Return the engine, not as the caller reaches it.

        Who logs in reaches nothing yet, and accounts are beyond everybody's bounds.
        """
        memory = self._state.memory if tenant_id is None else self._state.memory.acting_for(tenant_id)
        return memory.engine


def person_of(caller: Caller) -> Any:
    """Return who is logged in; raise ``Forbidden`` for a key, which is nobody."""
    if caller.person is None:
        raise Forbidden("this is a key, not a login session", hint="log in: POST /v1/auth/login")
    return caller.person


def lifetimes_of(settings: AccountSettings) -> Lifetimes:
    """Return how long tokens are valid."""
    return Lifetimes(
        round(settings.access_minutes * _MINUTE),
        round(settings.refresh_days * _DAY),
        round(settings.session_days * _DAY),
    )


def reception_of(request: Request) -> Reception:
    """Return the reception of a running service; made when the first person comes."""
    reception: Reception | None = getattr(request.app.state, "reception", None)
    if reception is None:
        reception = request.app.state.reception = Reception(request.app.state.memstone)
    return reception
