"""Logging in and out, staying logged in, and changing one's own password."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from memstone.core.access.passwords import MAX_CHARS, checked_password, decoy, is_outdated, matches
from memstone.engine.access.accounts import folded, hash_of, is_login, shown
from memstone.engine.access.accounts_tokens import INVALID, LongToken, digest, read_long, short_token, signing_key
from memstone.engine.parts import Parts
from memstone.errors import InvalidInput, Unauthenticated
from memstone.model.access import Account, Lifetimes, Session
from memstone.model.ids import new_id
from memstone.model.instant import instant, moment
from memstone.ports.ledger import Tx

SESSIONS: Final = 50
"""An account has at most so many; the oldest ends when there is one more."""

_WRONG: Final = "the login or the password is wrong"
_HINT: Final = "ask an administrator for another password"

Told: TypeAlias = "dict[str, Any] | Literal['invalid', 'over', 'reused']"


async def login(parts: Parts, login: str, password: str, lifetimes: Lifetimes) -> dict[str, Any]:
    """A session for whoever knows the password, or ``Unauthenticated``.

    Whether the login, the password or the account is at fault is not told, and takes as long to find out.
    """
    known = None
    if is_login(login):
        known = await parts.ledger.peek(lambda tx: tx.accounts.named(parts.tenant_id, folded(login)))
    right = await _is_right(parts, password, known)
    if known is None or not right or known.disabled:
        raise Unauthenticated(_WRONG, hint=_HINT)
    stored = await hash_of(parts, password) if is_outdated(known.password) else known.password
    return await _opened(parts, known, stored, lifetimes)


async def _is_right(parts: Parts, password: str, account: Account | None) -> bool:
    given = password if isinstance(password, str) and len(password) <= MAX_CHARS else ""
    stored = decoy() if account is None else account.password
    return await parts.io.run(partial(matches, given, stored))


async def _opened(parts: Parts, account: Account, stored: str, lifetimes: Lifetimes) -> dict[str, Any]:
    now = parts.clock.now()
    token = LongToken.new(account.tenant_id, new_id())
    begun = Session(
        account.tenant_id,
        token.session_id,
        account.id,
        digest(token.family),
        digest(token.own),
        instant(now),
        _until(now, now, lifetimes),
    )

    async def work(tx: Tx) -> Told:
        found = await tx.accounts.find(account.tenant_id, account.id)
        if found is None or found.disabled or found.password != account.password:
            return "invalid"  # it was changed while the password was compared
        await tx.accounts.put(replace(found, password=stored, last_login_at=instant(now)))
        await tx.accounts.tidy(account.tenant_id, account.id, instant(now), SESSIONS - 1)
        await tx.accounts.begin(begun)
        key = await signing_key(tx, account.tenant_id, instant(now))
        return _answer(replace(found, last_login_at=instant(now)), begun, token, key, now, lifetimes)

    return _told(await parts.ledger.write(work), _WRONG)


async def refresh(
    parts: Parts, token: str, lifetimes: Lifetimes, ended: Callable[[], None] | None = None
) -> dict[str, Any]:
    """Another pair of tokens for a long one, which is used up by that.

    One that was used up before is in two hands: whoever it is that comes second, the session ends. ``ended`` is called
    when a session has ended by it.
    """
    given, now = read_long(token), parts.clock.now()
    home = parts.of(given.tenant_id)
    known = await home.ledger.peek(lambda tx: tx.accounts.session(given.tenant_id, given.session_id))
    if known is None or not given.belongs_to(known):  # whoever only guesses does not hold up those who write
        raise Unauthenticated(INVALID, hint="log in again")

    async def work(tx: Tx) -> Told:
        session = await tx.accounts.session(given.tenant_id, given.session_id)
        if session is None or not given.belongs_to(session):
            return "invalid"
        account = await tx.accounts.find(session.tenant_id, session.account_id)
        new = LongToken.new(session.tenant_id, session.id, given.family)
        turned = replace(
            session, current=digest(new.own), expires_at=_until(moment(session.created_at), now, lifetimes)
        )
        over = account is None or account.disabled or session.expires_at <= instant(now)
        fresh = not over and given.is_current(session) and await tx.accounts.turn(session, turned)
        if account is None or not fresh:
            await tx.accounts.end(session.tenant_id, session.id)
            return "over" if over else "reused"
        key = await signing_key(tx, account.tenant_id, instant(now))
        return _answer(account, turned, new, key, now, lifetimes)

    answer = await home.ledger.write(work)
    if answer in ("over", "reused") and ended is not None:
        ended()
    return _told(answer, INVALID)


async def logout(parts: Parts, account: Account, session_id: str, *, everywhere: bool) -> int:
    """End a session, or all of an account; gives how many."""
    if everywhere:
        return await parts.ledger.write(lambda tx: tx.accounts.end_all(account.tenant_id, account.id))
    return int(await parts.ledger.write(lambda tx: tx.accounts.end(account.tenant_id, session_id)))


async def change_password(parts: Parts, account: Account, session_id: str, old: str, new: str) -> dict[str, Any]:
    """Change one's own password; every other session of the account ends."""
    known = await parts.ledger.peek(lambda tx: tx.accounts.find(account.tenant_id, account.id))
    if known is None or not await _is_right(parts, old, known):
        raise Unauthenticated("the password is wrong", hint=_HINT)
    if checked_password(new, known.login) == old:
        raise InvalidInput("the new password is the old one")
    stored, now = await hash_of(parts, new), parts.now()

    async def work(tx: Tx) -> int:
        found = await tx.accounts.find(known.tenant_id, known.id)
        if found is None or found.disabled or found.password != known.password:
            raise Unauthenticated("the password is wrong", hint=_HINT)
        await tx.accounts.put(replace(found, password=stored, updated_at=now))
        return await tx.accounts.end_all(known.tenant_id, known.id, but=session_id)

    return {"changed": True, "sessions_ended": await parts.ledger.write(work)}


def _told(answer: Told, wrong: str) -> dict[str, Any]:
    """The answer of a transaction; what is wrong is said only once what had to end has ended."""
    if answer == "reused":
        raise Unauthenticated("this token was used before", hint="log in again: the session was ended")
    if isinstance(answer, str):
        raise Unauthenticated(wrong, hint="log in again")
    return answer


def _until(begun: datetime, now: datetime, lifetimes: Lifetimes) -> str:
    last = begun + timedelta(seconds=lifetimes.session)
    return instant(min(now + timedelta(seconds=lifetimes.refresh), last))


def _answer(
    account: Account, session: Session, token: LongToken, key: bytes, now: datetime, lifetimes: Lifetimes
) -> dict[str, Any]:
    return {
        "access_token": short_token(account, session.id, key, now, lifetimes),
        "token_type": "Bearer",
        "expires_in": lifetimes.access,
        "refresh_token": str(token),
        "refresh_expires_at": session.expires_at,
        "account": shown(account),
    }
