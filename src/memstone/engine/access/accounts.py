"""Accounts of people who log in, which administrators create, change and remove."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from memstone.core.access import jwt
from memstone.core.access.passwords import (
    MAX_CHARS,
    SALT_BYTES,
    checked_password,
    decoy_hash,
    hash_password,
    is_correct_password,
    is_outdated,
)
from memstone.engine.runtime import Runtime
from memstone.errors import Conflict, InvalidInput, NotFoundError, TokenExpired, Unauthenticated
from memstone.model.access import ROLES, Account, ApiKey, Lifetimes, LoginSession, Role, StoredSecret
from memstone.model.ids import MAX_ID_CHARS, clean_id, new_id
from memstone.model.instant import Instant, datetime_from_instant, to_instant
from memstone.model.unicode_forms import normalize_unicode
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.results import AccountItem, AccountRemoval, TokenKeyRotation

# --- accounts ---------------------------------------------------------------------------------------------------------


REMOVED: Final = "removed:"
"""Under this name and its id it is noted that an account was removed; nothing else about it is kept."""

_NAME_CHARS: Final = 200
_LOGIN_CHARS: Final = 256


@dataclass(frozen=True, slots=True)
class AccountEdit:
    """What shall be different about an account; None stays as it is, '' takes a name or a bound away."""

    login: str | None = None
    name: str | None = None
    role: str | None = None
    password: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    disabled: bool | None = None


async def create_account(runtime: Runtime, login: str, password: str, wanted: AccountEdit) -> AccountItem:
    """Return a new account; its login must be free in the tenant."""
    name, now = parse_login(login), runtime.now()
    account = Account(runtime.tenant_id, new_id(), name, "", now, now)
    account = replace(account, **_validate_changes(wanted, name))
    account = replace(account, password=await hash_of(runtime, checked_password(password, name)))

    async def work(tx: Tx) -> None:
        await _is_free(tx, account)
        await tx.accounts.put(account)

    await runtime.ledger.write(work)
    return describe_account(account)


async def list_accounts(runtime: Runtime) -> list[AccountItem]:
    """Return the accounts of the tenant; what recognises their passwords is not told."""
    return [describe_account(one) for one in await runtime.ledger.peek(lambda tx: tx.accounts.all(runtime.tenant_id))]


async def set_account(runtime: Runtime, account: str, wanted: AccountEdit) -> AccountItem:
    """Change an account; with another password, or when it is disabled, all its sessions end."""
    before = await runtime.ledger.read(lambda tx: find_account(runtime, tx, account))
    changed = _validate_changes(wanted, before.login)
    if wanted.password is not None:
        text = checked_password(wanted.password, changed.get("login", before.login))
        changed["password"] = await hash_of(runtime, text)
    changed["updated_at"] = runtime.now()

    async def work(tx: Tx) -> Account:
        new = replace(await find_account(runtime, tx, before.id), **changed)
        await _is_free(tx, new)
        await tx.accounts.put(new)
        if new.disabled or "password" in changed:
            await tx.accounts.end_all(new.tenant_id, new.id)
        return new

    return describe_account(await runtime.ledger.write(work))


async def remove_account(runtime: Runtime, account: str) -> AccountRemoval:
    """Remove an account; its sessions end.

    That there was one of its number is noted, so that an older backup does not bring it back.
    """
    now = runtime.now()

    async def work(tx: Tx) -> Account:
        gone = await find_account(runtime, tx, account)
        await tx.accounts.remove(gone.tenant_id, gone.id)
        await tx.vault.put_secret(gone.tenant_id, REMOVED + gone.id, StoredSecret(b"", now))
        return gone

    return {**describe_account(await runtime.ledger.write(work)), "removed": True}


async def find_account(runtime: Runtime, tx: Tx, account: str) -> Account:
    """Return an account by its id or its login."""
    known = await tx.accounts.find(runtime.tenant_id, account) if isinstance(account, str) else None
    if known is None and is_login(account):
        known = await tx.accounts.find_by_login(runtime.tenant_id, parse_login(account))
    if known is None:
        raise NotFoundError(f"no account {account}", hint="`memstone accounts list` shows them")
    return known


async def hash_of(runtime: Runtime, password: str) -> str:
    """Return what is kept of a password; the work is done where it holds nobody up."""
    return await runtime.io.run(partial(hash_password, password, os.urandom(SALT_BYTES)))


def describe_account(account: Account) -> AccountItem:
    """Return an account as lists show it."""
    return {
        "id": account.id,
        "login": account.login,
        "name": account.name,
        "role": account.role.value,
        "verbs": [verb.value for verb in account.role.verbs],
        "tenant_id": account.tenant_id,
        "user_id": account.user_id or None,
        "agent_id": account.agent_id or None,
        "disabled": account.disabled,
        "created_at": account.created_at,
        "updated_at": account.updated_at,
        "last_login_at": account.last_login_at,
    }


def parse_login(login: object) -> str:
    """Return a login as it is kept: however it is typed, it is the same."""
    if not is_login(login):
        raise InvalidInput(
            f"a login must have 1 to {_LOGIN_CHARS} characters and no spaces", hint="use an e-mail address or a name"
        )
    return _normalize_login(login)


def is_login(login: object) -> bool:
    """Return whether a login could be one."""
    if not isinstance(login, str) or len(login) > _LOGIN_CHARS:
        return False
    text = _normalize_login(login)
    return text.isprintable() and len(text.split()) == 1 and len(text) <= _LOGIN_CHARS


def _normalize_login(login: object) -> str:
    return normalize_unicode("NFKC", str(login).strip()).casefold()


async def _is_free(tx: Tx, account: Account) -> None:
    other = await tx.accounts.find_by_login(account.tenant_id, account.login)
    if other is not None and other.id != account.id:
        raise Conflict("an account with this login already exists", hint="choose another login, or change that account")


def _validate_changes(wanted: AccountEdit, login: str) -> dict[str, Any]:
    """Return what changes, but for the password."""
    values: dict[str, Any] = {}
    if wanted.login is not None:
        values["login"] = parse_login(wanted.login)
    if wanted.name is not None:
        values["name"] = _validate_name(wanted.name)
    if wanted.role is not None:
        values["role"] = _parse_role(wanted.role)
    for bound in ("user_id", "agent_id"):
        if (value := getattr(wanted, bound)) is not None:
            values[bound] = clean_id(value or None, bound)
    if wanted.disabled is not None:
        if not isinstance(wanted.disabled, bool):
            raise InvalidInput(f"disabled of {login} must be true or false")
        values["disabled"] = wanted.disabled
    return values


def _validate_name(name: object) -> str:
    if not isinstance(name, str) or len(name.strip()) > _NAME_CHARS or not name.isprintable():
        raise InvalidInput(f"a name can have at most {_NAME_CHARS} characters, on one line")
    return name.strip()


def _parse_role(role: object) -> Role:
    if not isinstance(role, str) or role not in ROLES:
        raise InvalidInput(f"unknown role {role!r}", hint=", ".join(ROLES))
    return Role(role)


# --- the tokens of accounts -------------------------------------------------------------------------------------------


MARK: Final = "rr_"
INVALID: Final = "this token is not valid"

_CURRENT: Final = "tokens"
_PREVIOUS: Final = "tokens before"
_KEY_BYTES: Final = 32
_SECRET_BYTES: Final = 24
_PARTS: Final = 4
_LONGEST: Final = 1_200


@dataclass(frozen=True, slots=True)
class AuthenticatedAccount:
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
        """Make another one, of a family or of its own."""
        family = family or secrets.token_urlsafe(_SECRET_BYTES)
        return cls(tenant_id, session_id, family, secrets.token_urlsafe(_SECRET_BYTES))

    def belongs_to(self, session: LoginSession) -> bool:
        """Return whether it was given out for a session, now or earlier."""
        return hmac.compare_digest(hash_secret(self.family), session.family)

    def is_current(self, session: LoginSession) -> bool:
        """Return whether it is the one that was given out last."""
        return hmac.compare_digest(hash_secret(self.own), session.current)


def read_long(token: str) -> LongToken:
    """Return the parts of a long token, or ``Unauthenticated``."""
    parts = token.removeprefix(MARK).split(".") if token.startswith(MARK) and len(token) <= _LONGEST else []
    if len(parts) != _PARTS or not all(parts) or not token.isascii():
        raise Unauthenticated(INVALID)
    try:
        tenant = base64.b64decode(parts[0] + "=" * (-len(parts[0]) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise Unauthenticated(INVALID) from None
    return LongToken(_validate_tenant_id(tenant), *parts[1:])


def hash_secret(secret: str) -> str:
    """Return a fast hash, which will do: the secrets are random and long, nobody guesses them."""
    return hashlib.sha256(secret.encode()).hexdigest()


async def signing_key(tx: Tx, tenant_id: str, now: Instant) -> bytes:
    """Return the key with which the tokens of a tenant are signed; made when it is first wanted."""
    known = await tx.vault.secret(tenant_id, _CURRENT)
    if known is None:
        known = StoredSecret(os.urandom(_KEY_BYTES), now)
        await tx.vault.put_secret(tenant_id, _CURRENT, known)
    return known.value


async def rotate_token_key(runtime: Runtime, *, grace: bool) -> TokenKeyRotation:
    """Sign tokens with a new key from now on.

    With ``grace``, existing tokens stay valid until they expire.
    """
    now = runtime.now()

    async def work(tx: Tx) -> None:
        old = await tx.vault.secret(runtime.tenant_id, _CURRENT)
        await tx.vault.put_secret(runtime.tenant_id, _PREVIOUS, old if grace else None)
        await tx.vault.put_secret(runtime.tenant_id, _CURRENT, StoredSecret(os.urandom(_KEY_BYTES), now))

    await runtime.ledger.write(work)
    return {"rotated_at": now, "grace": bool(grace)}


async def authenticate_token(runtime: Runtime, token: str) -> AuthenticatedAccount:
    """Return who shows a short token, or raise ``Unauthenticated``; only its holder is told that it has expired.

    The account and the session are looked at each time: who is disabled, logged out or has another role by now is known
    at once, whatever the token says.
    """
    unverified_token = jwt.parse_token(token)
    if unverified_token is None:
        raise Unauthenticated(INVALID)
    claims, now = unverified_token.claims, runtime.clock.now()
    home = runtime.of(_validate_tenant_id(claims.tenant))

    async def work(tx: Tx) -> tuple[LoginSession | None, Account | None]:
        if not await _is_ours(tx, unverified_token):
            return None, None
        session = await tx.accounts.session(claims.tenant, claims.sid)
        return session, await tx.accounts.find(claims.tenant, claims.sub)

    session, account = await home.ledger.read(work)
    fits = session is not None and session.account_id == claims.sub and session.expires_at > to_instant(now)
    if account is None or session is None or not fits or account.disabled:
        raise Unauthenticated(INVALID)
    if not claims.hold_at(int(now.timestamp())):
        raise TokenExpired("this token has expired")
    until = to_instant(datetime.fromtimestamp(claims.exp, now.tzinfo))
    return AuthenticatedAccount(key_of(account), account, session.id, min(until, session.expires_at))


async def _is_ours(tx: Tx, visible: jwt.UnverifiedToken) -> bool:
    """Return whether it is signed with the key of the tenant, or with the one before while that was the one."""
    tenant = visible.claims.tenant
    current = await tx.vault.secret(tenant, _CURRENT)
    if current is None or visible.is_by(current.value):
        return current is not None
    previous = await tx.vault.secret(tenant, _PREVIOUS)
    changed = datetime_from_instant(current.created_at).timestamp()
    return previous is not None and visible.is_by(previous.value) and visible.claims.iat <= changed


def key_of(account: Account) -> ApiKey:
    """Return what a key would be that allows the same."""
    verbs = tuple(str(verb) for verb in account.role.verbs)
    return ApiKey(account.tenant_id, account.id, "", account.created_at, account.login, account.subjects, verbs)


def short_token(account: Account, session_id: str, key: bytes, now: datetime, lifetimes: Lifetimes) -> str:
    """Return a token to ask with."""
    at = int(now.timestamp())
    named = {"sub": account.id, "tenant": account.tenant_id, "role": str(account.role), "sid": session_id}
    return jwt.issue_token(jwt.Claims(**named, iat=at, nbf=at, exp=at + lifetimes.access), key)


def _validate_tenant_id(name: str) -> str:
    """Return a name from a token that nobody has checked yet."""
    if not name or len(name) > MAX_ID_CHARS or not name.isprintable() or len(name.split()) != 1:
        raise Unauthenticated(INVALID)
    return name


# --- logging in and out, staying logged in, and changing one's own password -------------------------------------------


SESSIONS: Final = 50
"""An account has at most so many; the oldest ends when there is one more."""

_WRONG: Final = "the login or the password is wrong"
_HINT: Final = "ask an administrator for another password"

RefreshOutcome: TypeAlias = "dict[str, Any] | Literal['invalid', 'over', 'reused']"


async def login_account(runtime: Runtime, login: str, password: str, lifetimes: Lifetimes) -> dict[str, Any]:
    """Return a session for whoever knows the password, or ``Unauthenticated``.

    Whether the login, the password or the account is at fault is not told, and takes as long to find out.
    """
    known = None
    if is_login(login):
        known = await runtime.ledger.peek(lambda tx: tx.accounts.find_by_login(runtime.tenant_id, parse_login(login)))
    right = await _is_right(runtime, password, known)
    if known is None or not right or known.disabled:
        raise Unauthenticated(_WRONG, hint=_HINT)
    stored = await hash_of(runtime, password) if is_outdated(known.password) else known.password
    return await _open_session(runtime, known, stored, lifetimes)


async def _is_right(runtime: Runtime, password: str, account: Account | None) -> bool:
    text = password if isinstance(password, str) and len(password) <= MAX_CHARS else ""
    stored = decoy_hash() if account is None else account.password
    return await runtime.io.run(partial(is_correct_password, text, stored))


async def _open_session(runtime: Runtime, account: Account, stored: str, lifetimes: Lifetimes) -> dict[str, Any]:
    now = runtime.clock.now()
    token = LongToken.new(account.tenant_id, new_id())
    begun = LoginSession(
        account.tenant_id,
        token.session_id,
        account.id,
        hash_secret(token.family),
        hash_secret(token.own),
        to_instant(now),
        _session_expiry(now, now, lifetimes),
    )

    async def work(tx: Tx) -> RefreshOutcome:
        found = await tx.accounts.find(account.tenant_id, account.id)
        if found is None or found.disabled or found.password != account.password:
            return "invalid"  # it was changed while the password was compared
        await tx.accounts.put(replace(found, password=stored, last_login_at=to_instant(now)))
        await tx.accounts.tidy(account.tenant_id, account.id, to_instant(now), SESSIONS - 1)
        await tx.accounts.begin(begun)
        key = await signing_key(tx, account.tenant_id, to_instant(now))
        return _build_token_response(replace(found, last_login_at=to_instant(now)), begun, token, key, now, lifetimes)

    return _unwrap_token_response(await runtime.ledger.write(work), _WRONG)


async def refresh_session(
    runtime: Runtime, token: str, lifetimes: Lifetimes, ended: Callable[[], None] | None = None
) -> dict[str, Any]:
    """Return another pair of tokens for a long one, which is used up by that.

    One that was used up before is in two hands: whoever it is that comes second, the session ends. ``ended`` is called
    when a session has ended by it.
    """
    long_token, now = read_long(token), runtime.clock.now()
    home = runtime.of(long_token.tenant_id)
    known = await home.ledger.peek(lambda tx: tx.accounts.session(long_token.tenant_id, long_token.session_id))
    if known is None or not long_token.belongs_to(known):  # whoever only guesses does not hold up those who write
        raise Unauthenticated(INVALID, hint="log in again")

    async def work(tx: Tx) -> RefreshOutcome:
        session = await tx.accounts.session(long_token.tenant_id, long_token.session_id)
        if session is None or not long_token.belongs_to(session):
            return "invalid"
        account = await tx.accounts.find(session.tenant_id, session.account_id)
        new = LongToken.new(session.tenant_id, session.id, long_token.family)
        turned = replace(
            session,
            current=hash_secret(new.own),
            expires_at=_session_expiry(datetime_from_instant(session.created_at), now, lifetimes),
        )
        over = account is None or account.disabled or session.expires_at <= to_instant(now)
        fresh = not over and long_token.is_current(session) and await tx.accounts.turn(session, turned)
        if account is None or not fresh:
            await tx.accounts.end(session.tenant_id, session.id)
            return "over" if over else "reused"
        key = await signing_key(tx, account.tenant_id, to_instant(now))
        return _build_token_response(account, turned, new, key, now, lifetimes)

    answer = await home.ledger.write(work)
    if answer in ("over", "reused") and ended is not None:
        ended()
    return _unwrap_token_response(answer, INVALID)


async def logout_account(runtime: Runtime, account: Account, session_id: str, *, everywhere: bool) -> int:
    """End a session, or all of an account; return how many."""
    if everywhere:
        return await runtime.ledger.write(lambda tx: tx.accounts.end_all(account.tenant_id, account.id))
    return int(await runtime.ledger.write(lambda tx: tx.accounts.end(account.tenant_id, session_id)))


async def change_password(runtime: Runtime, account: Account, session_id: str, old: str, new: str) -> dict[str, Any]:
    """Change one's own password; every other session of the account ends."""
    known = await runtime.ledger.peek(lambda tx: tx.accounts.find(account.tenant_id, account.id))
    if known is None or not await _is_right(runtime, old, known):
        raise Unauthenticated("the password is wrong", hint=_HINT)
    if checked_password(new, known.login) == old:
        raise InvalidInput("the new password is the same as the old one")
    stored, now = await hash_of(runtime, new), runtime.now()

    async def work(tx: Tx) -> int:
        found = await tx.accounts.find(known.tenant_id, known.id)
        if found is None or found.disabled or found.password != known.password:
            raise Unauthenticated("the password is wrong", hint=_HINT)
        await tx.accounts.put(replace(found, password=stored, updated_at=now))
        return await tx.accounts.end_all(known.tenant_id, known.id, but=session_id)

    return {"changed": True, "sessions_ended": await runtime.ledger.write(work)}


def _unwrap_token_response(answer: RefreshOutcome, wrong: str) -> dict[str, Any]:
    """Return the answer of a transaction; what is wrong is said only once what had to end has ended."""
    if answer == "reused":
        raise Unauthenticated("this token has already been used", hint="the session was ended: log in again")
    if isinstance(answer, str):
        raise Unauthenticated(wrong, hint="log in again")
    return answer


def _session_expiry(begun: datetime, now: datetime, lifetimes: Lifetimes) -> str:
    last = begun + timedelta(seconds=lifetimes.session)
    return to_instant(min(now + timedelta(seconds=lifetimes.refresh), last))


def _build_token_response(
    account: Account, session: LoginSession, token: LongToken, key: bytes, now: datetime, lifetimes: Lifetimes
) -> dict[str, Any]:
    return {
        "access_token": short_token(account, session.id, key, now, lifetimes),
        "token_type": "Bearer",
        "expires_in": lifetimes.access,
        "refresh_token": str(token),
        "refresh_expires_at": session.expires_at,
        "account": describe_account(account),
    }
