"""The route of every method, for clients and for the service.

A client reads from this table where to send a call and whether it may repeat it. The service builds the routes marked
``made`` from it (``server/rest/verbs.py``). The other routes are written by hand, because they take their arguments in
other ways as well, and a test compares them with this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from memstone.model.access import Verb

LEFT_OUT: Final = frozenset({"progress"})
"""Arguments that cannot be sent: a function stays where it is."""

NOT_OVER_HTTP: Final[dict[str, str]] = {
    "admin.backups.create": "it writes a file beside the store; use POST /v1/console/backup or `memstone backup`",
    "admin.backups.restore": "it reads a file beside the store; use `memstone restore`",
    "admin.backups.verify": "it reads a file beside the store; use `memstone backup --verify`",
    "admin.import_from": "it reads a local file; use POST /v1/console/import or `memstone import`",
    "admin.work": "a worker is a separate process; use `memstone worker`",
}
"""Methods without a route, why, and what to use instead."""


@dataclass(frozen=True, slots=True)
class VerbRoute:
    """The route of a method.

    Arguments named in ``path`` are sent in the path, the others in the query of a GET or DELETE, otherwise in the body.
    ``query``: arguments of a PUT or POST that are sent in the query. ``body``: the one argument that is the whole body.
    ``field``: the method returns this field of the answer. ``none_if_missing``: the method returns None for a 404.

    ``repeatable``: two calls have the same effect as one, so a client may repeat a call without knowing whether the
    first one was carried out. ``long``: it may take minutes.

    The rest is for routes that are ``made`` from this table. ``needs``: the permission. ``tenant``: it needs a key with
    access to the whole tenant. ``of_all``: a call that names nobody is about everybody and needs an administrator.
    ``narrowed_by``: arguments of a deletion; without any of them it would delete everything the caller has access to,
    so the service asks for a confirmation. ``changes_keys``: keys must be looked up again afterwards.
    """

    method: str
    path: str
    query: tuple[str, ...] = ()
    body: str = ""
    field: str = ""
    none_if_missing: bool = False
    repeatable: bool = False
    long: bool = False
    made: bool = False
    needs: Verb = Verb.READ
    tenant: bool = False
    of_all: bool = False
    narrowed_by: tuple[str, ...] = ()
    changes_keys: bool = False


_SCOPE: Final = ("user_id", "agent_id", "run_id")
_AGAIN: Final[dict[str, Any]] = {"repeatable": True}
_READ: Final[dict[str, Any]] = {"made": True, "repeatable": True}
_WRITE: Final[dict[str, Any]] = {"made": True, "needs": Verb.WRITE}
_ADMIN: Final[dict[str, Any]] = {"made": True, "needs": Verb.ADMIN, "tenant": True}
_MEMORY: Final = "/v1/memories/{memory_id}"
_MEMORY_PATH: Final = "/v1/console/memories/{memory_id}"


def _get(path: str, **options: Any) -> VerbRoute:
    return VerbRoute("GET", path, repeatable=True, **options)


def _send(path: str, method: str = "POST", **options: Any) -> VerbRoute:
    return VerbRoute(method, path, **options)


ROUTES: Final[dict[str, VerbRoute]] = {
    # what a memory does itself
    "add": _send("/v1/memories"),
    "add_many": _send("/v1/memories/batch", **_AGAIN, long=True),
    "ingest": _send("/v1/ingest", **_AGAIN, long=True),
    "search": _send("/v1/memories/search", **_AGAIN),
    "context": _send("/v1/context", **_AGAIN),
    "receipt": _get("/v1/receipts/{receipt_id}", none_if_missing=True),
    "get": _get(_MEMORY, none_if_missing=True),
    "get_all": _send("/v1/memories/list", **_READ),
    "update": _send(_MEMORY, "PUT"),
    "update_many": _send("/v1/memories/batch", "PUT", **_AGAIN, long=True),
    "delete": _send(_MEMORY, "DELETE"),
    "delete_many": _send("/v1/memories/batch", "DELETE", **_AGAIN, long=True),
    "delete_all": _send("/v1/memories/delete", **_WRITE, **_AGAIN, narrowed_by=(*_SCOPE, "filters")),
    "history": _get(f"{_MEMORY}/history", field="results"),
    "explain": _get(f"{_MEMORY}/explanation", made=True),
    "undo": _send("/v1/console/undo"),
    "stats": _get("/v1/stats"),
    "export": _get("/v1/export", long=True),
    "load": _send("/v1/import", **_AGAIN, long=True),
    "reset": _send("/v1/reset"),
    # conversations
    "sessions.ingest": _send("/v1/sessions", **_WRITE, long=True),
    "sessions.end": _send("/v1/sessions/end", **_WRITE, long=True),
    "sessions.backfill": _send("/v1/sessions/backfill", **_WRITE, long=True),
    "sessions.flush": _send("/v1/flush", query=("everybody",), long=True),
    "sessions.transcript": _get("/v1/transcript", made=True),
    "sessions.episodes": _get("/v1/episodes", made=True),
    # what is known, looked through and set right
    "review.list": _send("/v1/console/search", **_AGAIN),
    "review.approve": _send(f"{_MEMORY_PATH}/approve"),
    "review.reject": _send(f"{_MEMORY_PATH}/reject"),
    "review.quarantine": _send(f"{_MEMORY_PATH}/quarantine"),
    "review.disable": _send(f"{_MEMORY_PATH}/disable"),
    "review.enable": _send(f"{_MEMORY_PATH}/enable"),
    "review.restore": _send(f"{_MEMORY_PATH}/restore"),
    "review.rollback": _send("/v1/console/rollback", long=True),
    "review.events": _get("/v1/events"),
    "review.replacements": _get("/v1/replacements", made=True, of_all=True),
    "review.feedback": _send("/v1/console/feedback"),
    "review.record_answer": _send("/v1/console/answers"),
    # who a user is, and what a model is shown of them
    "identity.get": _get("/v1/identity", made=True),
    "identity.add_override": _send("/v1/identity/overrides", **_WRITE),
    "identity.set_overrides": _send("/v1/identity/overrides", "PUT", **_WRITE, **_AGAIN),
    "identity.remove_override": _send("/v1/identity/overrides/{position}", "DELETE", **_WRITE),
    "identity.set_narrative": _send("/v1/identity/narrative", "PUT", **_WRITE, **_AGAIN),
    "identity.instructions": _get("/v1/identity/instructions", made=True),
    "profile.get": _get("/v1/profile"),
    "profile.set_visibility": _send(f"{_MEMORY}/visibility", "PUT", **_AGAIN),
    "profile.facts": _get("/v1/profile/facts", made=True),
    "profile.preview": _send("/v1/console/context", **_AGAIN),
    "profile.preview_search": _send("/v1/memories/search/preview", **_READ),
    # what memories mention, who holds them, and vectors that callers bring
    "graph.entities": _send("/v1/entities", **_AGAIN),
    "graph.relations": _get("/v1/relations", made=True),
    "graph.check": _send("/v1/admin/graph", **_ADMIN, **_AGAIN, long=True),
    "sharing.share": _send(f"{_MEMORY_PATH}/share"),
    "sharing.unshare": _send(f"{_MEMORY_PATH}/unshare"),
    "sharing.replace": _send(f"{_MEMORY}/replace", **_WRITE),
    "sharing.reassign": _send("/v1/console/reassign", long=True),
    "vectors.insert": _send("/v1/vectors", **_WRITE, **_AGAIN),
    "vectors.upsert": _send("/v1/vectors", "PUT", **_WRITE, **_AGAIN),
    "vectors.query": _send("/v1/vectors/query", **_READ),
    "vectors.get": _send("/v1/vectors/get", **_READ),
    "vectors.delete": _send("/v1/vectors/delete", **_WRITE),
    "vectors.unlink": _send("/v1/vectors/unlink", **_WRITE),
    # settings, pauses, agents
    "settings.get": _get("/v1/settings"),
    "settings.set": _send("/v1/settings", "PUT", query=("user_id", "agent_id"), **_AGAIN),
    "settings.unset": _send("/v1/settings", "DELETE", **_AGAIN),
    "settings.pause": _send("/v1/pause", **_AGAIN),
    "settings.resume": _send("/v1/pause", "DELETE", **_AGAIN),
    "settings.pauses": _get("/v1/pause"),
    "settings.suggest_instructions": _send("/v1/instructions", **_AGAIN),
    "agents.list": _get("/agents"),
    "agents.get": _get("/agents/{agent_id}", none_if_missing=True),
    "agents.save": _send("/agents/{agent_id}", "PUT", **_AGAIN),
    "agents.delete": _send("/agents/{agent_id}", "DELETE"),
    # looking after a store
    "admin.keys.list": _get("/v1/keys", field="results"),
    "admin.keys.create": _send("/v1/keys"),
    "admin.keys.update": _send("/v1/keys/{key_id}", "PATCH", **_AGAIN),
    "admin.keys.rotate": _send("/v1/keys/{key_id}/rotate"),
    "admin.keys.revoke": _send("/v1/keys/{key_id}", "DELETE"),
    "admin.accounts.list": _get("/v1/accounts", field="results"),
    "admin.accounts.create": _send("/v1/accounts"),
    "admin.accounts.update": _send("/v1/accounts/{account}", "PATCH"),
    "admin.accounts.remove": _send("/v1/accounts/{account}", "DELETE"),
    "admin.accounts.rotate_token_key": _send("/v1/accounts/rotate-token-key", **_ADMIN, changes_keys=True),
    "admin.erase": _send("/v1/admin/erase", **_ADMIN, long=True),
    "admin.verify_erasure": _send("/v1/console/erasures/verify", body="report", **_AGAIN),
    "admin.redact": _send("/v1/admin/redact", **_ADMIN, long=True),
    "admin.reindex": _send("/v1/admin/reindex", **_ADMIN, long=True),
    "admin.refresh_vectors": _send("/v1/admin/refresh-vectors", **_ADMIN, long=True),
    "admin.pending_vectors": _get("/v1/admin/pending-vectors", made=True),
    "admin.consolidate": _send("/v1/admin/consolidate", **_WRITE, of_all=True, long=True),
    "admin.summarize": _send("/v1/admin/summarize", **_WRITE, of_all=True, long=True),
    "admin.list_scopes": _get("/v1/console/scopes"),
    "admin.dashboard": _get("/v1/console/dashboard"),
    "admin.jobs": _get("/v1/jobs"),
    "admin.metrics": _get("/v1/console/metrics"),
    "admin.health": _get("/v1/console/health"),
    "admin.status": _get("/v1/admin/status", made=True),
    "admin.check": _get("/v1/console/database", long=True),
}
"""By the name of the verb: its group and its method."""
