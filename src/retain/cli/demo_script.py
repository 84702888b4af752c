"""What is said in ``retain demo``: a made-up week of two people and their assistant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final


def at(day: int, hour: int = 12, minute: int = 0) -> datetime:
    """A moment of the demo's week; the 2nd is a Monday."""
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that is said: to whose memory, when, by whom."""

    user: str
    when: datetime
    speaker: str
    text: str
    key: str | None = None
    expires_at: datetime | None = None

    def message(self) -> dict[str, str]:
        """It as a chat message."""
        if self.speaker == "assistant":
            return {"role": "assistant", "content": self.text}
        return {"role": "user", "name": self.speaker, "content": self.text}

    def options(self) -> dict[str, Any]:
        """What goes along with it."""
        more = {"key": self.key, "expires_at": self.expires_at}
        return {"user_id": self.user} | {name: value for name, value in more.items() if value is not None}


BEGINNING: Final = (
    Said("maya", at(2, 9, 10), "Maya", "I live in Oslo and work for a small architecture office."),
    Said("maya", at(2, 9, 12), "Maya", "I'm allergic to hazelnuts."),
    Said("maya", at(2, 9, 14), "assistant", "I booked a table for two at the Harbour Grill for Friday at 19:00."),
    Said("jonas", at(2, 18, 40), "Jonas", "My daughter Ella plays the cello on Thursdays."),
    Said("maya", at(3, 8, 5), "Maya", "The team standup is at 9:30 in the blue room.", key="standup"),
    Said("maya", at(3, 12, 30), "Maya", "The gym's door code is 4711 this week.", expires_at=at(7, 0)),
    Said("maya", at(3, 20, 15), "Maya", "I am planning a surprise party for Jonas on Saturday."),
    Said("maya", at(3, 20, 16), "Maya", "I'm allergic to hazelnuts!"),
)
REVISION: Final = Said("maya", at(5, 8, 0), "Maya", "The team standup moved to 10:15, same room.", key="standup")
FRIDAY: Final = at(6, 17)
TUESDAY: Final = at(3, 18)
SATURDAY: Final = at(7, 10)
SUNDAY: Final = at(8, 11)
NEAR: Final = 0.3
"""Below this similarity the demo does not call something an answer."""

NEXT: Final = (
    ('retain add "I live in Oslo" --user me', "remember something"),
    ('retain search "Where is home?" --user me --explain', "find it, and see why"),
    ("retain doctor", "is all well?"),
)
