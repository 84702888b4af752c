"""Accounts: the people who log in to a service; made, changed and removed by administrators."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from memstone.core.access.passwords import SALT_BYTES, checked_password, hashed
from memstone.engine.parts import Parts
from memstone.errors import Conflict, InvalidInput, NotFoundError
from memstone.model.access import ROLES, Account, Role, StoredSecret
from memstone.model.ids import clean_id, new_id
from memstone.model.unicode_forms import normalize
from memstone.ports.ledger import Tx

REMOVED: Final = "removed:"
"""Under this name and its id it is noted that an account was removed; nothing else about it is kept."""

_NAME_CHARS: Final = 200
_LOGIN_CHARS: Final = 256


@dataclass(frozen=True, slots=True)
class Changes:
    """What shall be different about an account; None stays as it is, '' takes a name or a bound away."""

    login: str | None = None
    name: str | None = None
    role: str | None = None
    password: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    disabled: bool | None = None


async def create_account(parts: Parts, login: str, password: str, wanted: Changes) -> dict[str, Any]:
    """A new account; its login must be free in the tenant."""
    name, now = folded(login), parts.now()
    account = Account(parts.tenant_id, new_id(), name, "", now, now)
    account = replace(account, **_checked(wanted, name))
    account = replace(account, password=await hash_of(parts, checked_password(password, name)))

    async def work(tx: Tx) -> None:
        await _is_free(tx, account)
        await tx.accounts.put(account)

    await parts.ledger.write(work)
    return shown(account)


async def list_accounts(parts: Parts) -> list[dict[str, Any]]:
    """The accounts of the tenant; what recognises their passwords is not told."""
    return [shown(one) for one in await parts.ledger.peek(lambda tx: tx.accounts.all(parts.tenant_id))]


async def set_account(parts: Parts, account: str, wanted: Changes) -> dict[str, Any]:
    """Change an account; with another password, or when it is disabled, all its sessions end."""
    before = await parts.ledger.read(lambda tx: found(parts, tx, account))
    changed = _checked(wanted, before.login)
    if wanted.password is not None:
        text = checked_password(wanted.password, changed.get("login", before.login))
        changed["password"] = await hash_of(parts, text)
    changed["updated_at"] = parts.now()

    async def work(tx: Tx) -> Account:
        new = replace(await found(parts, tx, before.id), **changed)
        await _is_free(tx, new)
        await tx.accounts.put(new)
        if new.disabled or "password" in changed:
            await tx.accounts.end_all(new.tenant_id, new.id)
        return new

    return shown(await parts.ledger.write(work))


async def remove_account(parts: Parts, account: str) -> dict[str, Any]:
    """Remove an account; its sessions end.

    That there was one of its number is noted, so that an older backup does not bring it back.
    """
    now = parts.now()

    async def work(tx: Tx) -> Account:
        gone = await found(parts, tx, account)
        await tx.accounts.remove(gone.tenant_id, gone.id)
        await tx.vault.put_secret(gone.tenant_id, REMOVED + gone.id, StoredSecret(b"", now))
        return gone

    return {**shown(await parts.ledger.write(work)), "removed": True}


async def found(parts: Parts, tx: Tx, account: str) -> Account:
    """An account by its id or its login."""
    known = await tx.accounts.find(parts.tenant_id, account) if isinstance(account, str) else None
    if known is None and is_login(account):
        known = await tx.accounts.named(parts.tenant_id, folded(account))
    if known is None:
        raise NotFoundError(f"no account {account}", hint="`memstone accounts list` shows them")
    return known


async def hash_of(parts: Parts, password: str) -> str:
    """What is kept of a password; the work is done where it holds nobody up."""
    return await parts.io.run(partial(hashed, password, os.urandom(SALT_BYTES)))


def shown(account: Account) -> dict[str, Any]:
    """An account as lists show it."""
    return {
        "id": account.id,
        "login": account.login,
        "name": account.name,
        "role": str(account.role),
        "verbs": [str(verb) for verb in account.role.verbs],
        "tenant_id": account.tenant_id,
        "user_id": account.user_id or None,
        "agent_id": account.agent_id or None,
        "disabled": account.disabled,
        "created_at": account.created_at,
        "updated_at": account.updated_at,
        "last_login_at": account.last_login_at,
    }


def folded(login: object) -> str:
    """A login as it is kept: however it is typed, it is the same."""
    if not is_login(login):
        raise InvalidInput(
            f"a login has 1 to {_LOGIN_CHARS} characters and no blanks", hint="an e-mail address, or a name"
        )
    return _folded(login)


def is_login(login: object) -> bool:
    """Whether a login could be one."""
    if not isinstance(login, str) or len(login) > _LOGIN_CHARS:
        return False
    text = _folded(login)
    return text.isprintable() and len(text.split()) == 1 and len(text) <= _LOGIN_CHARS


def _folded(login: object) -> str:
    return normalize("NFKC", str(login).strip()).casefold()


async def _is_free(tx: Tx, account: Account) -> None:
    other = await tx.accounts.named(account.tenant_id, account.login)
    if other is not None and other.id != account.id:
        raise Conflict("there is an account with this login", hint="choose another login, or change that account")


def _checked(wanted: Changes, login: str) -> dict[str, Any]:
    """What changes, but for the password."""
    values: dict[str, Any] = {}
    if wanted.login is not None:
        values["login"] = folded(wanted.login)
    if wanted.name is not None:
        values["name"] = _named(wanted.name)
    if wanted.role is not None:
        values["role"] = _role(wanted.role)
    for bound in ("user_id", "agent_id"):
        if (value := getattr(wanted, bound)) is not None:
            values[bound] = clean_id(value or None, bound)
    if wanted.disabled is not None:
        if not isinstance(wanted.disabled, bool):
            raise InvalidInput(f"disabled of {login} must be true or false")
        values["disabled"] = wanted.disabled
    return values


def _named(name: object) -> str:
    if not isinstance(name, str) or len(name.strip()) > _NAME_CHARS or not name.isprintable():
        raise InvalidInput(f"a name has at most {_NAME_CHARS} characters, on one line")
    return name.strip()


def _role(role: object) -> Role:
    if not isinstance(role, str) or role not in ROLES:
        raise InvalidInput(f"unknown role {role!r}", hint=", ".join(ROLES))
    return Role(role)
