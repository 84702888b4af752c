"""Every method of ``AsyncClient``.

Made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from memstone.remote.aio.accounts import Accounts
from memstone.remote.aio.configuring import Configuring
from memstone.remote.aio.consolidating import Consolidating
from memstone.remote.aio.forming import Forming
from memstone.remote.aio.graphing import Graphing
from memstone.remote.aio.keeping import Keeping
from memstone.remote.aio.keyring import Keyring
from memstone.remote.aio.layered import Layered
from memstone.remote.aio.managing import Managing
from memstone.remote.aio.previewing import Previewing
from memstone.remote.aio.remembering import Remembering
from memstone.remote.aio.sharing import Sharing
from memstone.remote.aio.tending import Tending
from memstone.remote.aio.undoing import Undoing
from memstone.remote.aio.vectoring import Vectoring


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
