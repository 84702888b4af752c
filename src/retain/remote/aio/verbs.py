"""Every method of ``AsyncClient``.

Made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from retain.remote.aio.accounts import Accounts
from retain.remote.aio.configuring import Configuring
from retain.remote.aio.consolidating import Consolidating
from retain.remote.aio.forming import Forming
from retain.remote.aio.graphing import Graphing
from retain.remote.aio.keeping import Keeping
from retain.remote.aio.keyring import Keyring
from retain.remote.aio.layered import Layered
from retain.remote.aio.managing import Managing
from retain.remote.aio.previewing import Previewing
from retain.remote.aio.remembering import Remembering
from retain.remote.aio.sharing import Sharing
from retain.remote.aio.tending import Tending
from retain.remote.aio.undoing import Undoing
from retain.remote.aio.vectoring import Vectoring


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
    """Every method of ``AsyncClient``."""
