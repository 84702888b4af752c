"""Every method of ``Client``.

Made by ``scripts/make_client.py``: do not edit.
"""

from __future__ import annotations

from memstone.remote.blocking.accounts import Accounts
from memstone.remote.blocking.configuring import Configuring
from memstone.remote.blocking.consolidating import Consolidating
from memstone.remote.blocking.forming import Forming
from memstone.remote.blocking.graphing import Graphing
from memstone.remote.blocking.keeping import Keeping
from memstone.remote.blocking.keyring import Keyring
from memstone.remote.blocking.layered import Layered
from memstone.remote.blocking.managing import Managing
from memstone.remote.blocking.previewing import Previewing
from memstone.remote.blocking.remembering import Remembering
from memstone.remote.blocking.sharing import Sharing
from memstone.remote.blocking.tending import Tending
from memstone.remote.blocking.undoing import Undoing
from memstone.remote.blocking.vectoring import Vectoring


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
