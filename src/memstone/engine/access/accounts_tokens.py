"""The tokens of accounts: short ones to ask with, which are signed, and long ones to get more of them.

A long token belongs to a session and is exchanged for another with each use. One that comes back after it was
exchanged is in two hands, and the session ends for both.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memstone.core.access import jwt
from memstone.engine.parts import Parts
from memstone.errors import TokenExpired, Unauthenticated
from memstone.model.access import Account, ApiKey, Lifetimes, Session, StoredSecret
from memstone.model.ids import MAX_ID_CHARS
from memstone.model.instant import Instant, instant, moment
from memstone.ports.ledger import Tx

MARK: Final = "rr_"
INVALID: Final = "this token is not valid"

_CURRENT: Final = "tokens"
_PREVIOUS: Final = "tokens before"
_KEY_BYTES: Final = 32
_SECRET_BYTES: Final = 24
_PARTS: Final = 4
_LONGEST: Final = 1_200


@dataclass(frozen=True, slots=True)
class Recognised:
    """Somebody who is logged in, as a key would stand for them, and until when the token says so."""

    key: ApiKey
    account: Account
    session_id: str
    until: Instant


@dataclass(frozen=True, slots=True)
class LongToken:
    """What a long token is made of: the session, what every one of the session holds, and what only this one does."""

    tenant_id: str
    session_id: str
    family: str
    own: str

    def __str__(self) -> str:
        tenant = base64.urlsafe_b64encode(self.tenant_id.encode()).decode().rstrip("=")
        return f"{MARK}{tenant}.{self.session_id}.{self.family}.{self.own}"

    @classmethod
    def new(cls, tenant_id: str, session_id: str, family: str = "") -> LongToken:
        """Another one, of a family or of its own."""
        family = family or secrets.token_urlsafe(_SECRET_BYTES)
        return cls(tenant_id, session_id, family, secrets.token_urlsafe(_SECRET_BYTES))

    def belongs_to(self, session: Session) -> bool:
        """Whether it was given out for a session, now or earlier."""
        return hmac.compare_digest(digest(self.family), session.family)

    def is_current(self, session: Session) -> bool:
        """Whether it is the one that was given out last."""
        return hmac.compare_digest(digest(self.own), session.current)


def read_long(token: str) -> LongToken:
    """The parts of a long token, or ``Unauthenticated``."""
    parts = token.removeprefix(MARK).split(".") if token.startswith(MARK) and len(token) <= _LONGEST else []
    if len(parts) != _PARTS or not all(parts) or not token.isascii():
        raise Unauthenticated(INVALID)
    try:
        tenant = base64.b64decode(parts[0] + "=" * (-len(parts[0]) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise Unauthenticated(INVALID) from None
    return LongToken(_tenant(tenant), *parts[1:])


def digest(secret: str) -> str:
    """A fast hash will do: the secrets are random and long, nobody guesses them."""
    return hashlib.sha256(secret.encode()).hexdigest()


async def signing_key(tx: Tx, tenant_id: str, now: Instant) -> bytes:
    """The key with which the tokens of a tenant are signed; made when it is first wanted."""
    known = await tx.vault.secret(tenant_id, _CURRENT)
    if known is None:
        known = StoredSecret(os.urandom(_KEY_BYTES), now)
        await tx.vault.put_secret(tenant_id, _CURRENT, known)
    return known.value


async def rotate_token_key(parts: Parts, *, grace: bool) -> dict[str, Any]:
    """Sign with another key from now on; with ``grace``, tokens that are out already are valid until they expire."""
    now = parts.now()

    async def work(tx: Tx) -> None:
        old = await tx.vault.secret(parts.tenant_id, _CURRENT)
        await tx.vault.put_secret(parts.tenant_id, _PREVIOUS, old if grace else None)
        await tx.vault.put_secret(parts.tenant_id, _CURRENT, StoredSecret(os.urandom(_KEY_BYTES), now))

    await parts.ledger.write(work)
    return {"rotated_at": now, "grace": bool(grace)}


async def authenticate(parts: Parts, token: str) -> Recognised:
    """Who shows a short token, or ``Unauthenticated``; it is told only to its holder that it has expired.

    The account and the session are looked at each time: who is disabled, logged out or has another role by now is known
    at once, whatever the token says.
    """
    shown = jwt.read(token)
    if shown is None:
        raise Unauthenticated(INVALID)
    claims, now = shown.claims, parts.clock.now()
    home = parts.of(_tenant(claims.tenant))

    async def work(tx: Tx) -> tuple[Session | None, Account | None]:
        if not await _is_ours(tx, shown):
            return None, None
        session = await tx.accounts.session(claims.tenant, claims.sid)
        return session, await tx.accounts.find(claims.tenant, claims.sub)

    session, account = await home.ledger.read(work)
    fits = session is not None and session.account_id == claims.sub and session.expires_at > instant(now)
    if account is None or session is None or not fits or account.disabled:
        raise Unauthenticated(INVALID)
    if not claims.hold_at(int(now.timestamp())):
        raise TokenExpired("this token has expired")
    until = instant(datetime.fromtimestamp(claims.exp, now.tzinfo))
    return Recognised(key_of(account), account, session.id, min(until, session.expires_at))


async def _is_ours(tx: Tx, shown: jwt.Unproven) -> bool:
    """Whether it is signed with the key of the tenant, or with the one before while that was the one."""
    tenant = shown.claims.tenant
    current = await tx.vault.secret(tenant, _CURRENT)
    if current is None or shown.is_by(current.value):
        return current is not None
    previous = await tx.vault.secret(tenant, _PREVIOUS)
    changed = moment(current.created_at).timestamp()
    return previous is not None and shown.is_by(previous.value) and shown.claims.iat <= changed


def key_of(account: Account) -> ApiKey:
    """What a key would be that allows the same."""
    verbs = tuple(str(verb) for verb in account.role.verbs)
    return ApiKey(account.tenant_id, account.id, "", account.created_at, account.login, account.subjects, verbs)


def short_token(account: Account, session_id: str, key: bytes, now: datetime, lifetimes: Lifetimes) -> str:
    """A token to ask with."""
    at = int(now.timestamp())
    named = {"sub": account.id, "tenant": account.tenant_id, "role": str(account.role), "sid": session_id}
    return jwt.issued(jwt.Claims(**named, iat=at, nbf=at, exp=at + lifetimes.access), key)


def _tenant(name: str) -> str:
    """A name from a token that nobody has checked yet."""
    if not name or len(name) > MAX_ID_CHARS or not name.isprintable() or len(name.split()) != 1:
        raise Unauthenticated(INVALID)
    return name
