"""Pages for keys and accounts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from starlette.responses import Response

from memstone.errors import InvalidInput
from memstone.model.access import Verb
from memstone.server.console.visit import Pages, Visit

pages = Pages()

PATH: Final = "/console/settings/access"
REACHES: Final = {
    "names": "Names the user of each request: for your own backend",
    "user": "One person only",
    "agent": "One agent only",
    "pool": "Its own people only: nobody else's names mean the same",
}
_VERBS: Final = {"read": ("read",), "write": ("read", "write"), "admin": ("read", "write", "admin")}
_LASTING: Final = {"": None, "30": 30, "90": 90, "365": 365}


@pages.page(PATH, Verb.ADMIN, tenant=True)
async def show_access(visit: Visit) -> Response:
    """List keys and accounts."""
    return await _render(visit)


async def _render(visit: Visit, **more: Any) -> Response:
    keys = await visit.memory.admin.keys.list()
    current = [key for key in keys if not key["revoked_at"]]
    values = {"secret": None, "reaches": REACHES, "accounts": await visit.memory.admin.accounts.list(), **more}
    revoked = [key for key in keys if key["revoked_at"]]
    return visit.render("access.html", title="Access", keys=current[::-1], revoked=revoked[::-1], **values)


# --- keys -------------------------------------------------------------------------------------------------------------


@pages.act(f"{PATH}/keys/create", Verb.ADMIN, tenant=True)
async def create_key(visit: Visit) -> Response:
    """Create a key and show its secret, this once."""
    reach, verbs, name = visit.field("reach"), _read_verbs(visit), visit.field("name").strip()
    who = visit.field("who").strip()
    if reach not in REACHES:
        raise InvalidInput("say what the key has access to", hint="choose one from the list")
    if reach in ("user", "agent") and not who:
        raise InvalidInput(f"name the {reach} that the key is for", hint="type the id beside the choice")
    subjects: dict[str, Any] = {"may_assert_user": reach == "names"}
    if reach in ("user", "agent"):
        subjects[f"{reach}_id"] = who
    expires = _read_expiry(visit)
    made = await visit.memory.admin.keys.create(name, verbs=verbs, expires_at=expires, **subjects)
    return await _render(visit, secret=made)


def _read_verbs(visit: Visit) -> Any:
    verbs = _VERBS.get(visit.field("verb"))
    if verbs is None:
        raise InvalidInput("say what the key may do", hint="read, write or admin")
    return verbs


def _read_expiry(visit: Visit) -> str | None:
    days = _LASTING.get(visit.field("days"))
    return None if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat()


@pages.act(f"{PATH}/keys/narrow", Verb.ADMIN, tenant=True)
async def narrow_key(visit: Visit) -> Response:
    """Change what a key may do; its secret stays."""
    changed = await visit.memory.admin.keys.update(visit.field("key"), verbs=_read_verbs(visit))
    visit.console.state.doorkeeper.forget()
    return visit.done(f"The key {changed['name'] or changed['prefix']} may now {changed['verbs'][-1]}", PATH)


@pages.act(f"{PATH}/keys/rotate", Verb.ADMIN, tenant=True)
async def rotate_key(visit: Visit) -> Response:
    """Give a key a new secret; the old one works for another hour."""
    made = await visit.memory.admin.keys.rotate(visit.field("key"))
    visit.console.state.doorkeeper.forget()
    return await _render(visit, secret=made)


@pages.act(f"{PATH}/keys/revoke", Verb.ADMIN, tenant=True)
async def revoke_key(visit: Visit) -> Response:
    """End a key at once."""
    gone = await visit.memory.admin.keys.revoke(visit.field("key"))
    visit.console.state.doorkeeper.forget()
    return visit.done(f"Revoked {gone['name'] or gone['prefix']}: it works no more", PATH)


# --- accounts ---------------------------------------------------------------------------------------------------------


@pages.act(f"{PATH}/accounts/create", Verb.ADMIN, tenant=True)
async def create_account(visit: Visit) -> Response:
    """Create an account for somebody who logs in."""
    role: Any = visit.field("role") or "viewer"
    values = {"name": visit.field("name").strip(), "role": role, "user_id": visit.field("user").strip() or None}
    made = await visit.memory.admin.accounts.create(visit.field("login").strip(), visit.field("password"), **values)
    return visit.done(f"Created the account {made['login']}", PATH)


@pages.act(f"{PATH}/accounts/change", Verb.ADMIN, tenant=True)
async def change_account(visit: Visit) -> Response:
    """Change the role of an account, or whether it may log in."""
    account = visit.field("account")
    wanted = visit.field("wanted")
    if wanted in ("disable", "enable"):
        done = await visit.memory.admin.accounts.update(account, disabled=wanted == "disable")
        return visit.done(f"{done['login']} is {'locked out' if done['disabled'] else 'let in again'}", PATH)
    role: Any = visit.field("role")
    done = await visit.memory.admin.accounts.update(account, role=role)
    return visit.done(f"{done['login']} is now {done['role']}", PATH)


@pages.act(f"{PATH}/accounts/remove", Verb.ADMIN, tenant=True)
async def remove_account(visit: Visit) -> Response:
    """Remove an account and end its sessions."""
    gone = await visit.memory.admin.accounts.remove(visit.field("account"))
    return visit.done(f"Removed {gone['login']}", PATH)
