"""Pictures, sounds and files in messages: kept by name beside the words, or refused by name; never dropped in silence.

Memstone stores no bytes. A turn says ``[image: beach.png]`` where the picture stood, and its row names what was
attached.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from memstone.errors import InvalidInput
from memstone.model.message import Attachment, Message
from memstone.model.policy import Policy

_MASKED: Final = "masked"


def accepted(policy: Policy, messages: Sequence[Message]) -> list[Message]:
    """These messages, or ``InvalidInput`` that names what is attached to one where nothing may be."""
    if policy.curation.attachments == "refuse":
        for at, message in enumerate(messages):
            if message.attachments:
                one = message.attachments[0]
                raise InvalidInput(
                    f"messages[{at}] holds {one.kind} {one.name!r}, and attachments are refused here",
                    hint="leave it out, describe it in words, or set extract.attachments to reference",
                )
    return list(messages)


def attached(message: Message) -> dict[str, Any]:
    """What a row notes about the attachments of a message; nothing when there are none.

    A name that was masked in the text is not told here either.
    """
    if not message.attachments:
        return {}
    told = (one if f": {one.name}]" in message.text else Attachment(one.kind, _MASKED) for one in message.attachments)
    return {"attachments": [one.as_dict() for one in told]}
