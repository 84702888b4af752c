"""API keys: create, recognise by hash, rotate and revoke them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from memstone.engine.runtime import Runtime
from memstone.engine.store.versions import checked_id
from memstone.errors import InvalidInput, NotFoundError, Unauthenticated
from memstone.model.access import ALL_VERBS, ApiKey, Bounds, Subjects, Users, Verb
from memstone.model.ids import clean_id, pool_id
from memstone.model.instant import When, parse_when, to_instant
from memstone.model.policy import Identity
from memstone.ports.ledger import Tx

if TYPE_CHECKING:
    from memstone.literals import VerbName
    from memstone.results import KeyItem, KeySecret

_MARK: Final = "rt"
_ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32
_NAME_CHARS: Final = 200
_LONG: Final = 365 * 86_400
"""An old secret is accepted for less than a year."""


async def create_key(
    runtime: Runtime,
    name: str,
    verbs: Sequence[str],
    subjects: Subjects,
    expires_at: When | None,
) -> KeySecret:
    """Return a new key; the answer is the only place where it ever stands."""
    key_id = secrets.token_hex(_ID_BYTES)
    token = _generate_token(key_id)
    until = None if expires_at is None else parse_when(expires_at, "expires_at")
    if until is not None and until <= runtime.now():
        raise InvalidInput("expires_at is in the past", hint="leave it out for a key that does not expire")
    key = ApiKey(
        runtime.tenant_id, key_id, _hash_token(token), runtime.now(), _validate_name(name), _validate_subjects(subjects)
    )
    key = replace(key, verbs=_validate_verbs(verbs), expires_at=until)
    await runtime.ledger.write(lambda tx: tx.api_keys.put(key))
    return {"key": token, **describe_key(key)}


async def list_keys(runtime: Runtime) -> list[KeyItem]:
    """Return the keys of the tenant; the keys themselves are nowhere."""
    return [describe_key(key) for key in await runtime.ledger.peek(lambda tx: tx.api_keys.all(runtime.tenant_id))]


async def set_key(
    runtime: Runtime, key_id: str, name: str | None, verbs: Sequence[str] | None, *, may_assert_user: bool | None
) -> KeyItem:
    """Change what a key is called and what it may do; None leaves something as it is."""
    wanted = checked_id(key_id, "key_id")
    changed: dict[str, Any] = {} if name is None else {"name": _validate_name(name)}
    if verbs is not None:
        changed["verbs"] = _validate_verbs(verbs)
    if may_assert_user is not None and not isinstance(may_assert_user, bool):
        raise InvalidInput(f"may_assert_user must be true or false, not {may_assert_user!r}")

    async def work(tx: Tx) -> ApiKey:
        old = await _find_tenant_key(runtime, tx, wanted)
        subjects = old.subjects
        if may_assert_user is not None:
            subjects = _validate_subjects(replace(subjects, may_assert_user=may_assert_user))
        new = replace(old, subjects=subjects, **changed)
        await tx.api_keys.put(new)
        return new

    return describe_key(await runtime.ledger.write(work))


async def rotate_key(runtime: Runtime, key_id: str, grace_seconds: float) -> KeySecret:
    """Return a new secret under the same id; the old one is accepted for a while."""
    if isinstance(grace_seconds, bool) or not isinstance(grace_seconds, (int, float)) or not 0 <= grace_seconds < _LONG:
        raise InvalidInput(f"grace_seconds must be a number of seconds from 0, not {grace_seconds!r}")
    wanted, now = checked_id(key_id, "key_id"), runtime.clock.now()
    token = _generate_token(wanted)

    async def work(tx: Tx) -> ApiKey:
        old = await _find_tenant_key(runtime, tx, wanted)
        if old.revoked_at is not None:
            raise InvalidInput(f"key {wanted} is revoked", hint="create a new key")
        until = to_instant(now + timedelta(seconds=grace_seconds)) if grace_seconds else None
        new = replace(
            old, hash=_hash_token(token), previous_hash=old.hash if grace_seconds else None, previous_until=until
        )
        await tx.api_keys.put(new)
        return new

    return {"key": token, **describe_key(await runtime.ledger.write(work))}


async def revoke_key(runtime: Runtime, key_id: str) -> KeyItem:
    """End a key at once; harmless when it has ended."""
    wanted, now = checked_id(key_id, "key_id"), runtime.now()

    async def work(tx: Tx) -> ApiKey:
        old = await _find_tenant_key(runtime, tx, wanted)
        ended = replace(old, revoked_at=old.revoked_at or now, previous_hash=None, previous_until=None)
        await tx.api_keys.put(ended)
        return ended

    return describe_key(await runtime.ledger.write(work))


async def authenticate_key(runtime: Runtime, token: str) -> ApiKey:
    """Return the key that a caller shows, or raise ``Unauthenticated``.

    Whatever is wrong with it, the error is the same.
    """
    key_id = _id_of(token)
    found = await runtime.ledger.peek(lambda tx: tx.api_keys.find(key_id)) if key_id else None
    # A key that does not exist takes as long as one that does.
    right = _is_valid_token(found, token, runtime.now())
    if found is None or not right:
        raise Unauthenticated("this key is not valid")
    return found


async def note_use(runtime: Runtime, key: ApiKey) -> None:
    """Keep when a key was last used."""
    now = runtime.now()
    await runtime.ledger.of(key.tenant_id).write(lambda tx: tx.api_keys.record_use(key.tenant_id, key.id, now))


def bounds_of(key: ApiKey, identity: Identity) -> Bounds:
    """Return what a key reaches: everybody, whoever it names, one user or agent, or else its own pools.

    ``admin`` reaches everybody, the pools of all keys included. ``may_assert_user`` reaches everybody but those pools.
    """
    is_complete, trusted = Verb.ADMIN in key.verbs, key.subjects.may_assert_user
    one = key.subjects.user_id
    users = Users.ALL if is_complete or one else Users.PEOPLE if trusted else Users.POOLS
    unnamed = "" if one else _default_user_id(key, identity, trusted=users is not Users.POOLS)
    return Bounds(key.tenant_id, one, key.subjects.agent_id, users, "" if one else key.id, unnamed)


def _default_user_id(key: ApiKey, identity: Identity, *, trusted: bool) -> str:
    """Return whom a request means that names nobody; where people are to be named it is never the key."""
    if identity.nobody == "owner" and trusted:
        return identity.owner
    return pool_id(key.id) if identity.nobody == "owner" or identity.sources == ("api_key",) else ""


def describe_key(key: ApiKey) -> KeyItem:
    """Return a key as lists show it."""
    return {
        "id": key.id,
        "name": key.name,
        "prefix": f"{_MARK}_{key.id}",
        "tenant_id": key.tenant_id,
        "user_id": key.subjects.user_id or None,
        "agent_id": key.subjects.agent_id or None,
        "may_assert_user": key.subjects.may_assert_user,
        "verbs": cast("list[VerbName]", list(key.verbs)),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
    }


async def _find_tenant_key(runtime: Runtime, tx: Tx, key_id: str) -> ApiKey:
    found = await tx.api_keys.find(key_id)
    if found is None or found.tenant_id != runtime.tenant_id:
        raise NotFoundError(f"no key {key_id}", hint="`memstone keys list` shows them")
    return found


def _is_valid_token(key: ApiKey | None, token: str, now: str) -> bool:
    text = _hash_token(token)
    current = hmac.compare_digest(text, key.hash if key else "0" * len(text))
    before = hmac.compare_digest(text, (key.previous_hash if key else None) or "0" * len(text))
    if key is None or key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        return False
    return current or (before and key.previous_until is not None and now < key.previous_until)


def _generate_token(key_id: str) -> str:
    return f"{_MARK}_{key_id}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def _id_of(token: str) -> str:
    mark, _, rest = token.partition("_")
    key_id, _, secret = rest.partition("_")
    return key_id if mark == _MARK and secret and key_id.isalnum() else ""


def _hash_token(token: str) -> str:
    """Return a fast hash, which will do: the secret is random and long, nobody guesses it."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _validate_name(name: str) -> str:
    if not isinstance(name, str):
        raise InvalidInput(f"a key's name must be text, not {type(name).__name__}")
    text = name.strip()
    if len(text) > _NAME_CHARS or not text.isprintable():
        raise InvalidInput(f"a key's name can have at most {_NAME_CHARS} characters, all of them printable")
    return text


def _validate_subjects(subjects: Subjects) -> Subjects:
    user, agent = clean_id(subjects.user_id or None, "user_id"), clean_id(subjects.agent_id or None, "agent_id")
    if subjects.may_assert_user and user:
        raise InvalidInput("a key that belongs to one user cannot also assert users", hint="leave out one of them")
    return Subjects(user, agent, subjects.may_assert_user)


def _validate_verbs(verbs: Sequence[str]) -> tuple[str, ...]:
    if isinstance(verbs, str) or not isinstance(verbs, Sequence) or not all(isinstance(verb, str) for verb in verbs):
        raise InvalidInput(f"verbs must be a list, not {verbs!r}", hint="read, write, admin")
    unknown = sorted(set(verbs) - set(ALL_VERBS))
    if unknown or not verbs:
        raise InvalidInput(
            f"unknown verb {unknown[0]!r}" if unknown else "a key needs a verb", hint="read, write, admin"
        )
    highest = max(ALL_VERBS.index(Verb(verb)) for verb in verbs)
    return tuple(str(verb) for verb in ALL_VERBS[: highest + 1])
