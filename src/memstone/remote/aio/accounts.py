"""The people who log in to a service.

The part of ``AsyncClient``, made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memstone.remote.base import Remote

if TYPE_CHECKING:
    from memstone.literals import RoleName
    from memstone.results import AccountItem, AccountRemoval, InstructionSuggestion, TokenKeyRotation


class Accounts(Remote):
    """The people who log in to a service."""

    async def create_account(
        self,
        login: str,
        password: str,
        *,
        name: str = "",
        role: RoleName = "viewer",
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> AccountItem:
        """Let somebody log in to the service: an e-mail address or a name, and a password.

        ``role`` is ``viewer`` (reads), ``editor`` (also writes) or ``admin``. With ``user_id`` or ``agent_id`` they
        reach that user's or agent's memories only. Of the password only what recognises it is kept.
        """
        given: dict[str, Any] = {
            "login": login,
            "password": password,
            "name": name,
            "role": role,
            "user_id": user_id,
            "agent_id": agent_id,
        }
        result: AccountItem = await self._link.call("create_account", given)
        return result

    async def accounts(self) -> list[AccountItem]:
        """The accounts of this tenant, oldest first."""
        given: dict[str, Any] = {}
        result: list[AccountItem] = await self._link.call("accounts", given)
        return result

    async def set_account(
        self,
        account: str,
        *,
        login: str | None = None,
        name: str | None = None,
        role: RoleName | None = None,
        password: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        disabled: bool | None = None,
    ) -> AccountItem:
        """Change an account, named by its id or its login; what is not given stays, '' takes a name or a bound away.

        With another password, or when it is disabled, whoever is logged in with it no longer is.
        """
        given: dict[str, Any] = {
            "account": account,
            "login": login,
            "name": name,
            "role": role,
            "password": password,
            "user_id": user_id,
            "agent_id": agent_id,
            "disabled": disabled,
        }
        result: AccountItem = await self._link.call("set_account", given)
        return result

    async def remove_account(self, account: str, *, dry_run: bool = False) -> AccountRemoval:
        """Remove an account, named by its id or its login; whoever is logged in with it no longer is."""
        given: dict[str, Any] = {"account": account, "dry_run": dry_run}
        result: AccountRemoval = await self._link.call("remove_account", given)
        return result

    async def rotate_token_key(self, *, grace: bool = True) -> TokenKeyRotation:
        """Sign the tokens of people who log in with another key from now on.

        With ``grace``, tokens that are out already are accepted until they expire, which takes minutes; without, they
        end at once. Nobody has to log in again.
        """
        given: dict[str, Any] = {"grace": grace}
        result: TokenKeyRotation = await self._link.call("rotate_token_key", given)
        return result

    async def suggest_instructions(self, use_case: str) -> InstructionSuggestion:
        """What to keep for a use case in plain words, such as "a cooking coach": instructions and settings.

        A language model is asked once, where one is configured, else rules answer; ``source`` says which. Secrets, and
        what the law protects, are left out unless the use case asks for them. It only suggests: nothing is changed.
        """
        given: dict[str, Any] = {"use_case": use_case}
        result: InstructionSuggestion = await self._link.call("suggest_instructions", given)
        return result
