"""The people who log in to a service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstone.drive import drive
from memstone.faces.base import Face
from memstone.model.ids import clean_id

if TYPE_CHECKING:
    from memstone.literals import RoleName
    from memstone.results import AccountItem, AccountRemoval, InstructionSuggestion, TokenKeyRotation


class Accounts(Face):
    """The people who log in to a service."""

    def create_account(
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
        from memstone.engine.access import accounts

        user, agent = clean_id(user_id, "user_id"), clean_id(agent_id, "agent_id")
        wanted = accounts.Changes(name=name, role=role, user_id=user, agent_id=agent)
        return drive(self._engine.run(accounts.create_account, login, password, wanted))

    def accounts(self) -> list[AccountItem]:
        """The accounts of this tenant, oldest first."""
        from memstone.engine.access import accounts

        return drive(self._engine.run(accounts.list_accounts))

    def set_account(
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
        from memstone.engine.access import accounts

        wanted = accounts.Changes(login, name, role, password, user_id, agent_id, disabled)
        return drive(self._engine.run(accounts.set_account, account, wanted))

    def remove_account(self, account: str, *, dry_run: bool = False) -> AccountRemoval:
        """Remove an account, named by its id or its login; whoever is logged in with it no longer is."""
        from memstone.engine.access import accounts

        return drive(self._engine.dry(dry_run).run(accounts.remove_account, account))

    def rotate_token_key(self, *, grace: bool = True) -> TokenKeyRotation:
        """Sign the tokens of people who log in with another key from now on.

        With ``grace``, tokens that are out already are accepted until they expire, which takes minutes; without, they
        end at once. Nobody has to log in again.
        """
        from memstone.engine.access import accounts as accounts_tokens

        return drive(self._engine.run(accounts_tokens.rotate_token_key, grace=grace))

    def suggest_instructions(self, use_case: str) -> InstructionSuggestion:
        """What to keep for a use case in plain words, such as "a cooking coach": instructions and settings.

        A language model is asked once, where one is configured, else rules answer; ``source`` says which. Secrets, and
        what the law protects, are left out unless the use case asks for them. It only suggests: nothing is changed.
        """
        from memstone.engine.learning import instructions

        return drive(self._engine.run(instructions.suggest_instructions, use_case))
