"""Answers that began under one number and ended under another, because the model searched in between.

A client knows the first number, and continues the answer by it. The service that gave it can only continue the last: in
the first the call of our tool has no result. What is noted is kept as long as answers of models are.
"""

from __future__ import annotations

import hashlib

from retain.engine.parts import Parts


async def note_end(parts: Parts, began: str, ended: str) -> None:
    """An answer began under one number and ended under another."""
    now = parts.now()
    await parts.ledger.write(lambda tx: tx.llm_cache.put(parts.tenant_id, _key(began), ended, now))


async def end_of(parts: Parts, began: str) -> str:
    """Under which number an answer ended; the same when nothing else is known."""
    found = await parts.ledger.peek(lambda tx: tx.llm_cache.get(parts.tenant_id, _key(began)))
    return found or began


def _key(began: str) -> str:
    return hashlib.sha256(f"response:{began}".encode()).hexdigest()
