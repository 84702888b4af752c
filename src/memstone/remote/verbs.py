"""Every method of ``Memory`` that can be called over HTTP, and what whoever calls it must be allowed to do.

The service makes its routes from this table and the client its calls, so the two cannot know different methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from memstone.model.access import Verb

LEFT_OUT: Final = frozenset({"progress"})
"""Arguments that cannot be sent: a function stays where it is."""

NOT_OVER_HTTP: Final[dict[str, str]] = {
    "acting_for": "the key of a client says for whom it acts",
    "backends": "it shows how other services are reached; /api/settings shows that without secrets",
    "backup": "it writes a file on the machine of the store; the console's routes and `memstone backup` do that",
    "close": "it ends the client's own connections, not the service",
    "from_env": "a client is made of an address and a key",
    "import_from": "it reads a file where it is called; `memstone import` does that, and the console takes uploads",
    "owner": "the service itself decides whose a call is that names nobody",
    "restore_backup": "it reads a file on the machine of the store; `memstone restore` does that",
    "set_backends": "addresses that come from elsewhere are checked first; /api/settings does that",
    "verify_backup": "it reads a file on the machine of the store; `memstone backup --verify` does that",
    "work": "a worker is a process beside the service: `memstone worker`",
}
"""Methods that make no sense over HTTP, and why."""


@dataclass(frozen=True, slots=True)
class Call:
    """What a method needs.

    ``tenant``: a key that reaches the whole tenant. ``operator``: one of the tenant that runs the service, because it
    is about all of them. ``all_needs_admin``: when it names nobody it is about everybody,
    and then takes an administrator. ``repeatable``: twice is the same as once, so that a client may try again without
    knowing whether the first try was carried out. ``long``: it may well take minutes. ``sets``: the argument that names
    settings, some of which only an administrator may set. ``narrowed_by``: arguments of a deletion; when none of them
    is given it empties everything the caller reaches, and the service asks for a confirmation.
    """

    verb: Verb
    tenant: bool = False
    operator: bool = False
    all_needs_admin: bool = False
    repeatable: bool = False
    long: bool = False
    sets: str = ""
    narrowed_by: tuple[str, ...] = ()


_READING: Final = """
    agent agents context engine_status entities episodes get get_all get_vectors history identity pending_vectors pinned
    preview_context profile query_vectors receipt relations retrieve_preview search settings standing_instructions
    transcript
"""
_READING_OF_ALL: Final = "dashboard events inspect jobs memory_page memory_updates metrics paused"
_WRITING: Final = """
    add add_override delete delete_vectors disable enable feedback quarantine record_answer remove_override replace
    restore share undo unlink_vector unshare update
"""
_BY_NEED: Final[tuple[tuple[Call, str], ...]] = (
    (Call(Verb.READ, repeatable=True), _READING),
    (Call(Verb.READ, all_needs_admin=True, repeatable=True), _READING_OF_ALL),
    (Call(Verb.READ, all_needs_admin=True, long=True), "export"),
    (Call(Verb.WRITE), _WRITING),
    (Call(Verb.WRITE, repeatable=True), "suggest_instructions"),  # it changes nothing, and spends what a model costs
    (
        Call(Verb.WRITE, repeatable=True),
        "insert_vectors set_narrative set_overrides set_visibility upsert_vectors",
    ),
    (Call(Verb.WRITE, repeatable=True, narrowed_by=("user_id", "agent_id", "run_id", "filters")), "delete_all"),
    # The client gives every batch a key of its own, and what is in a transcript is not stored twice.
    (Call(Verb.WRITE, repeatable=True, long=True), "add_many delete_many ingest update_many"),
    (Call(Verb.WRITE, long=True), "backfill end_session ingest_session"),
    (Call(Verb.WRITE, all_needs_admin=True, repeatable=True), "pause resume"),
    (Call(Verb.WRITE, all_needs_admin=True, repeatable=True, sets="values"), "set_settings"),
    (
        Call(
            Verb.WRITE,
            all_needs_admin=True,
            repeatable=True,
            sets="names",
            narrowed_by=("names", "user_id", "agent_id"),
        ),
        "unset_settings",
    ),
    (Call(Verb.WRITE, repeatable=True, sets="settings"), "save_agent"),
    (Call(Verb.WRITE, all_needs_admin=True, long=True), "consolidate flush summarize summarize_old"),
    (Call(Verb.ADMIN), "approve delete_agent reject"),
    (Call(Verb.ADMIN, long=True), "rollback"),
    (Call(Verb.ADMIN, tenant=True, repeatable=True), "accounts health keys scopes stats verify verify_erasure"),
    (Call(Verb.ADMIN, tenant=True, repeatable=True, operator=True, long=True), "check"),
    (Call(Verb.ADMIN, tenant=True), "create_key refresh_vectors reset revoke_key rotate_key"),
    (Call(Verb.ADMIN, tenant=True), "create_account remove_account rotate_token_key set_account"),
    (Call(Verb.ADMIN, tenant=True, repeatable=True), "set_key"),
    (Call(Verb.ADMIN, tenant=True, long=True), "erase reassign redact reindex"),
    (Call(Verb.ADMIN, tenant=True, repeatable=True, long=True), "load"),
)

VERBS: Final[dict[str, Call]] = {name: call for call, names in _BY_NEED for name in names.split()}
"""By the name of the method."""
