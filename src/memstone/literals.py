"""Values of arguments and answers, for type checkers and for checks at run time.

Where the engine has an enumeration of the same words, a test keeps the two in step.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

EncryptionState: TypeAlias = Literal["encrypted", "plain", "memory", "server"]
"""Whether the database is encrypted on disk, or who sees to that."""

LayerName: TypeAlias = Literal["identity", "fact", "episode", "turn"]
"""What sort of memory it is: who somebody is, a fact, the digest of a session, or what was said word for word."""

KindName: TypeAlias = Literal["factual", "episodic", "procedural", "semantic", "override", "derived", "narrative"]
"""What sort of knowledge a memory holds; the last three belong to the layer of identity."""

CallerKind: TypeAlias = Literal["factual", "episodic", "procedural", "semantic"]
"""The kinds that a caller may give a memory, and ask for."""

StatusName: TypeAlias = Literal["active", "disabled", "superseded", "evicted", "quarantined", "deleted"]
"""Whether and how a memory may be seen."""

VisibilityName: TypeAlias = Literal["default", "pinned", "hidden", "private"]
"""What a person decided about showing a memory to models: as usual, always, not in the profile, or never."""

EventName: TypeAlias = Literal[
    "ADD",
    "UPDATE",
    "DELETE",
    "REPLACE",
    "LINK",
    "UNLINK",
    "DISABLE",
    "ENABLE",
    "MERGE",
    "PROMOTE",
    "EVICT",
    "SUMMARIZE",
    "FEEDBACK",
    "REDACT",
]
"""What happened to a memory, as its history says it."""

AddEventName: TypeAlias = Literal["ADD", "UPDATE", "REPLACE", "DELETE", "NONE"]
"""What became of a statement: ``NONE`` was known already."""

AddStatus: TypeAlias = Literal["ok", "queued", "partial", "deferred", "paused", "disabled", "error"]
"""How an ``add`` ended: ``queued`` is learned later, ``partial`` and ``deferred`` wait for a model or an embedder."""

ShareEvent: TypeAlias = Literal["LINK", "UNLINK", "DELETE", "NONE"]
"""What became of a memory that was shared or unshared: ``DELETE`` when the last holder left."""

IdleStatus: TypeAlias = Literal["paused", "disabled"]
"""Why nothing is stored for somebody."""

Strategy: TypeAlias = Literal["hybrid", "semantic", "exact", "recent", "vector", "text"]
"""How ``search`` looks: by words and meaning, by meaning, for the words literally, the newest, or by one channel."""

TierName: TypeAlias = Literal["hybrid", "vector", "keyword", "recent"]
"""The channel that a hit comes from: meaning and words, meaning, words, or neither."""

SearchScope: TypeAlias = Literal["session", "owner", "apiKey", "global"]
"""How far ``search`` and ``context`` look: at the run, at every run of the user, or also at what is everybody's.

``apiKey`` is what callers of a gateway call ``owner``.
"""

GateName: TypeAlias = Literal["profile", "always", "off", "heuristic", "llm", "never"]
"""How ``context`` decides whether memory helps with a message; ``off``, the gate is off, is the same as ``always``."""

RouteName: TypeAlias = Literal["none", "recall", "identity", "pinned", "episode", "transcript"]
"""The part of the memory that was chosen for a message."""

JobStatus: TypeAlias = Literal["success", "skipped", "empty", "error", "dead_letter"]
"""How a piece of background work ended."""

RoleName: TypeAlias = Literal["viewer", "editor", "admin"]
"""What somebody who logs in may do; each role includes the ones before it."""

VerbName: TypeAlias = Literal["read", "write", "admin"]
"""What a key may do; each verb includes the ones before it."""

ScopeKind: TypeAlias = Literal["user", "agent", "run"]
"""What ``scopes`` lists."""

PresetName: TypeAlias = Literal["facts", "gateway", "companion", "shared"]
"""The ready-made configurations."""

Vocabulary: TypeAlias = Literal["native", "gateway", "companion", "agent"]
"""Whose names of settings are used: our own, or those of another product."""
