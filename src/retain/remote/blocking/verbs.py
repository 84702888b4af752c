"""Every method of ``Client``.

Made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from retain.remote.blocking.accounts import Accounts
from retain.remote.blocking.configuring import Configuring
from retain.remote.blocking.consolidating import Consolidating
from retain.remote.blocking.forming import Forming
from retain.remote.blocking.graphing import Graphing
from retain.remote.blocking.keeping import Keeping
from retain.remote.blocking.keyring import Keyring
from retain.remote.blocking.layered import Layered
from retain.remote.blocking.managing import Managing
from retain.remote.blocking.previewing import Previewing
from retain.remote.blocking.remembering import Remembering
from retain.remote.blocking.sharing import Sharing
from retain.remote.blocking.tending import Tending
from retain.remote.blocking.undoing import Undoing
from retain.remote.blocking.vectoring import Vectoring


class Verbs(
    Remembering,
    Forming,
    Layered,
    Consolidating,
    Undoing,
    Previewing,
    Sharing,
    Keeping,
    Configuring,
    Keyring,
    Accounts,
    Graphing,
    Tending,
    Managing,
    Vectoring,
):
    """Every method of ``Client``."""
