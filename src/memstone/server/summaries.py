"""The summary of every route, in plain words.

A summary is a verb and its object, has at most 60 characters, and is unique.

``/openapi.json`` shows them, and makes from them the names of operations, which generated clients use as the names of
their methods, and the names of the bodies of routes made from methods.
"""

from __future__ import annotations

import re
from typing import Final

_ARTICLES: Final = frozenset({"a", "an", "the"})

SUMMARIES: Final[dict[str, str]] = {
    # health
    "GET /healthz": "Check that the process runs",
    "GET /readyz": "Check that requests can be answered",
    "GET /metrics": "Get latencies, counts and rates",
    # memories
    "POST /v1/memories": "Add memories from messages",
    "GET /v1/memories": "List memories",
    "DELETE /v1/memories": "Delete all memories of a scope",
    "POST /v1/memories/batch": "Add memories from a batch of messages",
    "PUT /v1/memories/batch": "Update a batch of memories",
    "DELETE /v1/memories/batch": "Delete a batch of memories",
    "POST /v1/memories/list": "List memories with filters",
    "POST /v1/memories/delete": "Delete memories with filters",
    "GET /v1/memories/search": "Search memories",
    "POST /v1/memories/search": "Search memories with filters",
    "POST /v1/memories/search/preview": "Preview a search",
    "GET /v1/memories/{memory_id}": "Get a memory",
    "PUT /v1/memories/{memory_id}": "Update a memory",
    "DELETE /v1/memories/{memory_id}": "Delete a memory",
    "PUT /v1/memories/{memory_id}/visibility": "Choose whether models see a memory",
    "GET /v1/memories/{memory_id}/history": "List the history of a memory",
    "GET /v1/memories/{memory_id}/explanation": "Explain why a memory is known",
    "POST /v1/memories/{memory_id}/replace": "Replace a shared memory for one holder",
    "POST /v1/ingest": "Store a transcript",
    "POST /v1/flush": "Retry waiting work",
    "POST /v1/entities": "List entities",
    "GET /v1/entities/{name}/relations": "List the relations of an entity",
    "GET /v1/relations": "List relations",
    "GET /v1/replacements": "List replaced memories",
    "GET /v1/stats": "Count everything in the store",
    "POST /v1/reset": "Remove all data of a tenant",
    "GET /v1/export": "Export memories",
    "POST /v1/import": "Load an export",
    # context
    "POST /v1/context": "Build the context of a prompt",
    "GET /v1/profile": "Get the profile of a user",
    "GET /v1/profile/facts": "List facts by their weight",
    "GET /v1/receipts/{receipt_id}": "Get a receipt",
    # sessions
    "POST /v1/sessions": "Store a session",
    "POST /v1/sessions/end": "End a session",
    "POST /v1/sessions/backfill": "Learn from earlier chats",
    "GET /v1/transcript": "List the turns of a transcript",
    "GET /v1/episodes": "List episodes",
    # identity
    "GET /v1/identity": "Get the identity of a user",
    "PUT /v1/identity/overrides": "Replace the standing instructions",
    "POST /v1/identity/overrides": "Add a standing instruction",
    "DELETE /v1/identity/overrides/{position}": "Delete a standing instruction",
    "PUT /v1/identity/narrative": "Write the narrative of a user",
    "GET /v1/identity/instructions": "List what a user always wants done",
    # keys, logging in and accounts
    "GET /v1/me": "Get the rights of your key",
    "GET /v1/keys": "List keys",
    "POST /v1/keys": "Create a key",
    "PATCH /v1/keys/{key_id}": "Update a key",
    "DELETE /v1/keys/{key_id}": "Revoke a key",
    "POST /v1/keys/{key_id}/rotate": "Give a key a new secret",
    "POST /v1/auth/login": "Log in",
    "POST /v1/auth/refresh": "Exchange a refresh token",
    "POST /v1/auth/logout": "Log out",
    "GET /v1/auth/me": "Get the current caller",
    "POST /v1/auth/password": "Change your password",
    "GET /v1/accounts": "List accounts",
    "POST /v1/accounts": "Create an account",
    "PATCH /v1/accounts/{account}": "Update an account",
    "DELETE /v1/accounts/{account}": "Remove an account",
    "POST /v1/accounts/rotate-token-key": "Change the key for login tokens",
    # settings and pauses
    "POST /v1/instructions": "Suggest settings for a use case",
    "GET /v1/settings": "Get settings",
    "PUT /v1/settings": "Store settings",
    "DELETE /v1/settings": "Remove stored settings",
    "GET /v1/pause": "List pauses",
    "POST /v1/pause": "Pause memory",
    "DELETE /v1/pause": "End a pause",
    # vectors
    "PUT /v1/vectors": "Store or replace vectors",
    "POST /v1/vectors": "Store new vectors",
    "POST /v1/vectors/query": "Find similar vectors",
    "POST /v1/vectors/get": "Get vectors",
    "POST /v1/vectors/delete": "Delete vectors",
    "POST /v1/vectors/unlink": "Take a vector away from a user",
    "POST /insert": "Store new vectors at /insert",
    "POST /vectors/insert": "Store new vectors at /vectors/insert",
    "POST /upsert": "Store or replace vectors at /upsert",
    "POST /vectors/upsert": "Store or replace vectors at /vectors/upsert",
    "POST /query": "Find similar vectors at /query",
    "POST /vectors/query": "Find similar vectors at /vectors/query",
    "POST /delete-memory": "Take a vector away from a user at /delete-memory",
    "POST /vectors/delete-memory": "Take a vector away at /vectors/delete-memory",
    "POST /deleteByIds": "Delete vectors at /deleteByIds",
    "POST /vectors/deleteByIds": "Delete vectors at /vectors/deleteByIds",
    "POST /getByIds": "Get vectors at /getByIds",
    "POST /vectors/getByIds": "Get vectors at /vectors/getByIds",
    # administration
    "POST /v1/admin/graph": "Compare the graph database with the ledger",
    "POST /v1/admin/erase": "Erase data for good",
    "POST /v1/admin/redact": "Find and mask secrets",
    "POST /v1/admin/reindex": "Build vectors of the configured embedder",
    "POST /v1/admin/refresh-vectors": "Rebuild vectors in place",
    "GET /v1/admin/pending-vectors": "Count memories that wait for a vector",
    "POST /v1/admin/consolidate": "Consolidate memories",
    "POST /v1/admin/summarize": "Shorten memories",
    "GET /v1/admin/status": "Get the state of the engine",
    # the gateway
    "POST /v1/chat/completions": "Create a chat completion with memory",
    "POST /v1/messages": "Create a message with memory",
    "POST /v1/responses": "Create a response with memory",
    "POST /agents/{agent_id}/run": "Run an agent",
    "POST /v1/embeddings": "Create embeddings",
    "POST /v1/messages/count_tokens": "Count the tokens of a message",
    "GET /v1/models": "List models",
    # agents
    "GET /agents": "List agents",
    "POST /agents": "Create an agent",
    "GET /agents/{agent_id}": "Get an agent",
    "PUT /agents/{agent_id}": "Create or update an agent",
    "DELETE /agents/{agent_id}": "Delete an agent",
    # entries
    "GET /api/memory/health": "Test memory with an entry",
    "POST /api/memory/retrieve-preview": "Preview a search for entries",
    "GET /api/memory/engine-status": "List the parts of the engine",
    "GET /api/memory/embedding-providers": "List embedders",
    "POST /api/memory/summarize": "Shorten old entries",
    "POST /api/memory/reindex": "Build missing vectors",
    "GET /api/memory": "List entries",
    "POST /api/memory": "Create an entry",
    "GET /api/memory/{memory_id}": "Get an entry",
    "PUT /api/memory/{memory_id}": "Update an entry",
    "DELETE /api/memory/{memory_id}": "Delete an entry",
    "GET /api/settings/memory": "Get the memory settings of a gateway",
    "PUT /api/settings/memory": "Change the memory settings of a gateway",
    "GET /api/settings/qdrant": "Get the settings of Qdrant",
    "PUT /api/settings/qdrant": "Change the settings of Qdrant",
    "GET /api/settings/qdrant/health": "Check the connection to Qdrant",
    "POST /api/settings/qdrant/search": "Search Qdrant by meaning",
    "POST /api/settings/qdrant/cleanup": "Clean up Qdrant",
    "GET /api/settings/qdrant/embedding-models": "List embedding models for Qdrant",
    # companions
    "POST /memory/ingest": "Store a conversation of a companion",
    "POST /memory/consolidate": "Consolidate the memories of a companion",
    "POST /memory/sync": "Process the waiting work of a companion",
    "GET /memory/identity": "Get the identity of a companion's user",
    "PUT /memory/identity/overrides": "Replace the instructions for a companion",
    "POST /memory/identity/overrides": "Add an instruction for a companion",
    "DELETE /memory/identity/overrides/{position}": "Delete an instruction for a companion",
    "GET /memory/episodes": "List the episodes of a companion",
    "GET /memory/transcript": "List the turns of a companion's transcript",
    "POST /memory/clear": "Remove all memories of a companion",
    # the console
    "GET /v1/console/dashboard": "Get an overview of memory",
    "POST /v1/console/search": "Search memories of every layer and status",
    "GET /v1/console/quarantine": "List memories in quarantine",
    "GET /v1/console/memories/{memory_id}/history": "List the history of a memory for the console",
    "POST /v1/console/memories/{memory_id}/forget": "Delete a memory in the console",
    "POST /v1/console/memories/{memory_id}/restore": "Restore a memory",
    "POST /v1/console/memories/{memory_id}/approve": "Approve a memory",
    "POST /v1/console/memories/{memory_id}/reject": "Reject a memory",
    "POST /v1/console/memories/{memory_id}/share": "Share a memory",
    "POST /v1/console/memories/{memory_id}/unshare": "Unshare a memory",
    "POST /v1/console/memories/{memory_id}/{act}": "Disable, enable or quarantine a memory",
    "POST /v1/console/undo": "Undo a change or a job",
    "POST /v1/console/rollback": "Undo all changes of a source or since a time",
    "POST /v1/console/reassign": "Move memories to another scope",
    "POST /v1/console/context": "Preview the context of a prompt",
    "POST /v1/console/feedback": "Give feedback on memories",
    "POST /v1/console/answers": "Record the answer of a model",
    "GET /v1/console/metrics": "Get the metrics of memories",
    "GET /v1/console/scopes": "List users, agents or runs",
    "GET /v1/console/requests": "List the last requests",
    "GET /v1/console/configuration": "Get the configuration of the service",
    "GET /v1/console/database": "Check the database",
    "GET /v1/console/health": "Check whether memory works",
    "POST /v1/console/erasures/verify": "Verify an erasure report",
    # jobs
    "GET /v1/jobs": "List background jobs",
    "GET /v1/console/jobs": "List jobs of this process",
    "GET /v1/console/jobs/{job_id}": "Get the progress of a job",
    "POST /v1/console/jobs/{job_id}/cancel": "Cancel a job",
    "POST /v1/console/consolidate": "Start a consolidation",
    "POST /v1/console/reindex": "Start a reindex",
    "POST /v1/console/erase": "Start an erasure",
    "POST /v1/console/backup": "Start a backup",
    "POST /v1/console/import": "Start an import from another system",
    # changes
    "GET /v1/events": "List changes",
    "GET /v1/events/stream": "Stream changes",
}


def operation_name(summary: str) -> str:
    """Return the name of an operation, such as ``get_memory`` for "Get a memory"."""
    words = re.sub(r"'s\b", "", re.sub(r"([a-z])([A-Z])", r"\1 \2", summary)).lower()
    return "_".join(word for word in re.findall(r"[a-z0-9]+", words) if word not in _ARTICLES)


def body_name(summary: str) -> str:
    """Return the name of the body of an operation, such as ``UpdateMemoryBody`` for "Update a memory"."""
    return "".join(word.capitalize() for word in operation_name(summary).split("_")) + "Body"
