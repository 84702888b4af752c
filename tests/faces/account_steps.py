"""What the tests of accounts share: passwords that are quick to try, and what the service asks of the engine."""

from __future__ import annotations

from typing import Any

import pytest

from memstone.core.access import passwords
from memstone.core.access.passwords import Cost
from memstone.engine.access import accounts
from memstone.engine.access import accounts as access_accounts
from memstone.model.access import Lifetimes
from tests.faces.harness import Face

SENTENCE = "a long sentence of mine"
OTHER = "another sentence of mine"
ADA = "Ada@Example.org"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords that are quick to try; that is what the usual cost prevents."""
    monkeypatch.setattr(passwords, "COST", Cost(4, 8, 1))


async def run(face: Face, verb: Any, *args: Any, **more: Any) -> Any:
    """What the service asks of the engine."""
    return await face.memory.engine.run(verb, *args, **more)


async def logged_in(face: Face, login: str = ADA, password: str = SENTENCE, life: Lifetimes = Lifetimes()) -> Any:  # noqa: B008
    return await run(face, accounts.login_account, login, password, life)


async def recognised(face: Face, answer: dict[str, Any]) -> Any:
    return await run(face, access_accounts.authenticate_token, answer["access_token"])


async def refreshed(face: Face, token: str) -> Any:
    return await run(face, accounts.refresh_session, token, Lifetimes())
