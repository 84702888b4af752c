"""Sign in to the console: one-time links, typed codes, and sessions.

Nothing of a link, a code or a session is in the store but its hash. Whose memory a personal link opens is part of
the link itself, so that erasing a person leaves nothing of them here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias

from memstone.engine.access.accounts import key_of
from memstone.engine.runtime import Runtime
from memstone.errors import InvalidInput, Unauthenticated
from memstone.model.access import ALL_VERBS, Account, ApiKey, StoredSecret, Subjects, Verb
from memstone.model.ids import MAX_ID_CHARS, clean_id
from memstone.model.instant import Instant, to_instant
from memstone.ports.ledger import Tx

GrantKind: TypeAlias = Literal["operator", "account", "person"]

_NAME: Final = "console"
"""Under this name the vault holds what is known of links and sessions of a tenant."""

_MARK: Final = "mc"
_SECRET_BYTES: Final = 32
_PARTS: Final = 4
_LONGEST: Final = 1_200
_MOST: Final = 500
"""So many links and so many sessions a tenant has at most; the oldest end first."""

_TRIES: Final = 10
"""So often a wrong code is typed before all codes of the tenant end."""

_CODE_LETTERS: Final = "ABCDEFGHJKMNPQRSTVWXYZ23456789"
_CODE_CHARS: Final = 8
_LONGEST_LINK: Final = timedelta(days=365)
_ENDED: Final = "this sign-in is no longer valid"
USED_LINK: Final = "this link was already used, or has expired"
WRONG_CODE: Final = "this code is wrong, was already used, or has expired"
_NEW_LINK: Final = "run `memstone console` for a new one, or ask whoever sent it to you"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a link or a session allows.

    An ``operator`` reaches the whole tenant, an ``account`` what its role allows, a ``person`` only their own memory.
    ``seconds`` is how long the session of a link lasts.
    """

    kind: GrantKind
    created_at: Instant
    expires_at: Instant
    seconds: float = 0
    read_only: bool = False
    account_id: str = ""
    login_id: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class ConsoleLink:
    """A link as it is made: the only place where its secret ever stands."""

    token: str
    code: str
    expires_at: Instant


@dataclass(frozen=True, slots=True)
class ConsoleSession:
    """Somebody who is signed in: as a key would stand for them, and until when."""

    key: ApiKey
    kind: GrantKind
    until: Instant
    account: Account | None = None


# --- tokens -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Token:
    tenant_id: str
    secret: str
    user_id: str = ""

    def __str__(self) -> str:
        return ".".join((_MARK, _encode_part(self.tenant_id), self.secret, _encode_part(self.user_id)))

    @property
    def hash(self) -> str:
        """What recognises it: a fast hash will do, because nobody guesses 256 random bits."""
        return hashlib.sha256(str(self).encode()).hexdigest()


def _new_token(tenant_id: str, user_id: str = "") -> _Token:
    return _Token(tenant_id, secrets.token_urlsafe(_SECRET_BYTES), user_id)


def _encode_part(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode_part(text: str) -> str:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()


def _read_token(text: str) -> _Token:
    parts = text.split(".") if len(text) <= _LONGEST and text.isascii() else []
    if len(parts) != _PARTS or parts[0] != _MARK or not parts[2]:
        raise Unauthenticated(_ENDED)
    try:
        token = _Token(_decode_part(parts[1]), parts[2], _decode_part(parts[3]))
    except (binascii.Error, ValueError):
        raise Unauthenticated(_ENDED) from None
    if not token.tenant_id or len(token.tenant_id) > MAX_ID_CHARS or not token.tenant_id.isprintable():
        raise Unauthenticated(_ENDED)
    return token


def csrf_token(session_token: str) -> str:
    """Return what a form of a session must hold: only who can read its pages knows it."""
    return hmac.new(session_token.encode(), b"console form", hashlib.sha256).hexdigest()


# --- links ------------------------------------------------------------------------------------------------------------


async def create_console_link(
    runtime: Runtime,
    *,
    minutes: float,
    session_hours: float,
    user_id: str | None = None,
    read_only: bool = False,
) -> ConsoleLink:
    """Return a one-time link for the operator, or with ``user_id`` for a person to see their own memory.

    The operator's link has a short code that can be typed instead.
    """
    if not 0 < minutes * 60 <= _LONGEST_LINK.total_seconds():
        raise InvalidInput("a link can be valid for at most a year", hint="choose a shorter time")
    person = clean_id(user_id, "user_id") if user_id is not None else ""
    token, now = _new_token(runtime.tenant_id, person), runtime.clock.now()
    code = "" if person else "".join(secrets.choice(_CODE_LETTERS) for _ in range(_CODE_CHARS))
    grant = Grant(
        kind="person" if person else "operator",
        created_at=to_instant(now),
        expires_at=to_instant(now + timedelta(minutes=minutes)),
        seconds=session_hours * 3_600,
        read_only=read_only,
        code=_hash_code(runtime.tenant_id, code) if code else "",
    )

    async def work(tx: Tx) -> None:
        access = await _load_access(tx, runtime.tenant_id, grant.created_at)
        access.links[token.hash] = grant
        access.wrong_codes = 0 if code else access.wrong_codes
        await _save_access(tx, runtime.tenant_id, access, grant.created_at)

    await runtime.ledger.write(work)
    shown = f"{code[:4]}-{code[4:]}" if code else ""
    return ConsoleLink(str(token), shown, grant.expires_at)


async def redeem_link(runtime: Runtime, text: str) -> str:
    """Return the token of a new session for a link, which is used up by it."""
    try:
        link = _read_token(text)
    except Unauthenticated:
        raise Unauthenticated(USED_LINK, hint=_NEW_LINK) from None
    home, now = runtime.of(link.tenant_id), runtime.clock.now()
    known = await home.ledger.peek(lambda tx: _load_access(tx, link.tenant_id, to_instant(now)))
    if link.hash not in known.links:  # whoever only guesses does not hold up those who write
        raise Unauthenticated(USED_LINK, hint=_NEW_LINK)
    token = await home.ledger.write(lambda tx: _redeem(tx, link.tenant_id, link.hash, link.user_id, now))
    if token is None:
        raise Unauthenticated(USED_LINK, hint=_NEW_LINK)
    return token


async def redeem_code(runtime: Runtime, typed: str) -> str:
    """Return the same for a typed code; too many wrong ones end every code there is."""
    text = "".join(letter for letter in typed.upper() if letter.isalnum())
    tenant, now = runtime.tenant_id, runtime.clock.now()
    wanted = _hash_code(tenant, text)

    async def work(tx: Tx) -> str | None:
        access = await _load_access(tx, tenant, to_instant(now))
        found = next((name for name, one in access.links.items() if one.code == wanted), None)
        if found is not None and len(text) == _CODE_CHARS:
            return await _redeem(tx, tenant, found, "", now)
        access.wrong_codes += 1
        if access.wrong_codes >= _TRIES:
            access.links = {name: replace(one, code="") for name, one in access.links.items()}
        await _save_access(tx, tenant, access, to_instant(now))
        return None

    known = await runtime.ledger.peek(lambda tx: _load_access(tx, tenant, to_instant(now)))
    has_codes = any(one.code for one in known.links.values())
    token = await runtime.ledger.write(work) if has_codes else None
    if token is None:
        raise Unauthenticated(WRONG_CODE, hint=_NEW_LINK)
    return token


async def open_account_session(runtime: Runtime, account: str, login: str, hours: float) -> str:
    """Return the token of a console session for somebody who has just logged in with a password."""
    token, now = _new_token(runtime.tenant_id), runtime.clock.now()
    until = to_instant(now + timedelta(hours=hours))
    grant = Grant("account", to_instant(now), until, account_id=account, login_id=login)
    await runtime.ledger.write(lambda tx: _put_session(tx, runtime.tenant_id, token, grant))
    return str(token)


async def _redeem(tx: Tx, tenant_id: str, name: str, user_id: str, now: datetime) -> str | None:
    access = await _load_access(tx, tenant_id, to_instant(now))
    link = access.links.pop(name, None)
    if link is None:
        return None
    token = _new_token(tenant_id, user_id)
    until = to_instant(now + timedelta(seconds=link.seconds))
    access.sessions[token.hash] = replace(link, created_at=to_instant(now), expires_at=until, code="")
    await _save_access(tx, tenant_id, access, to_instant(now))
    return str(token)


# --- sessions ---------------------------------------------------------------------------------------------------------


async def authenticate_console(runtime: Runtime, text: str) -> ConsoleSession:
    """Return who shows the token of a session, or raise ``Unauthenticated``.

    An account is looked at each time: who is disabled or has another role by now is known at once.
    """
    token, now = _read_token(text), runtime.now()
    home = runtime.of(token.tenant_id)

    async def work(tx: Tx) -> tuple[Grant | None, Account | None]:
        grant = (await _load_access(tx, token.tenant_id, now)).sessions.get(token.hash)
        if grant is None or not grant.account_id:
            return grant, None
        login = await tx.accounts.session(token.tenant_id, grant.login_id)
        account = await tx.accounts.find(token.tenant_id, grant.account_id)
        return grant, account if login is not None and login.expires_at > now else None

    grant, account = await home.ledger.read(work)
    if grant is None or (grant.account_id and (account is None or account.disabled)):
        raise Unauthenticated(_ENDED)
    key = _key_for(grant, token) if account is None else key_of(account)
    return ConsoleSession(key, grant.kind, grant.expires_at, account)


async def end_console_session(runtime: Runtime, text: str) -> None:
    """End a session; harmless when it has ended."""
    token, now = _read_token(text), runtime.now()
    home = runtime.of(token.tenant_id)

    async def work(tx: Tx) -> None:
        access = await _load_access(tx, token.tenant_id, now)
        grant = access.sessions.pop(token.hash, None)
        await _save_access(tx, token.tenant_id, access, now)
        if grant is not None and grant.login_id:
            await tx.accounts.end(token.tenant_id, grant.login_id)

    await home.ledger.write(work)


async def end_all_console_access(runtime: Runtime) -> int:
    """End every link and session of the tenant; return how many there were."""
    now = runtime.now()

    async def work(tx: Tx) -> int:
        access = await _load_access(tx, runtime.tenant_id, now)
        await tx.vault.put_secret(runtime.tenant_id, _NAME, None)
        return len(access.links) + len(access.sessions)

    return await runtime.ledger.write(work)


def _key_for(grant: Grant, token: _Token) -> ApiKey:
    """Return what a key would be that allows the same; its id tells sessions apart and is no secret."""
    verbs = ALL_VERBS if grant.kind == "operator" else (Verb.READ, Verb.WRITE)
    allowed = (Verb.READ,) if grant.read_only else verbs
    subjects = Subjects(token.user_id)
    return ApiKey(
        token.tenant_id,
        f"console-{token.hash[:16]}",
        "",
        grant.created_at,
        "console",
        subjects,
        tuple(map(str, allowed)),
    )


# --- what the vault holds ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Access:
    links: dict[str, Grant]
    sessions: dict[str, Grant]
    wrong_codes: int = 0


async def _put_session(tx: Tx, tenant_id: str, token: _Token, grant: Grant) -> None:
    access = await _load_access(tx, tenant_id, grant.created_at)
    access.sessions[token.hash] = grant
    await _save_access(tx, tenant_id, access, grant.created_at)


async def _load_access(tx: Tx, tenant_id: str, now: Instant) -> _Access:
    """Return what is known and has not expired."""
    stored = await tx.vault.secret(tenant_id, _NAME)
    known: Mapping[str, Any] = json.loads(stored.value) if stored else {}
    links, sessions = (_valid_grants(known.get(part, {}), now) for part in ("links", "sessions"))
    return _Access(links, sessions, known.get("wrong_codes", 0))


def _valid_grants(stored: Mapping[str, Mapping[str, Any]], now: Instant) -> dict[str, Grant]:
    grants = {name: Grant(**one) for name, one in stored.items()}
    return {name: grant for name, grant in grants.items() if grant.expires_at > now}


async def _save_access(tx: Tx, tenant_id: str, access: _Access, now: Instant) -> None:
    stored = {
        "links": _newest_grants(access.links),
        "sessions": _newest_grants(access.sessions),
        "wrong_codes": access.wrong_codes,
    }
    await tx.vault.put_secret(tenant_id, _NAME, StoredSecret(json.dumps(stored).encode(), now))


def _newest_grants(grants: Mapping[str, Grant]) -> dict[str, dict[str, Any]]:
    newest = sorted(grants.items(), key=lambda one: one[1].created_at)[-_MOST:]
    return {name: asdict(grant) for name, grant in newest}


def _hash_code(tenant_id: str, code: str) -> str:
    """Return what recognises a code: it lives for minutes, works once, and few wrong ones are taken."""
    return hashlib.sha256(f"{tenant_id}\0{code}".encode()).hexdigest()
