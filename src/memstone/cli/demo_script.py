"""What is said in ``memstone demo``: a made-up week of two people and their assistant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final


def at(day: int, hour: int = 12, minute: int = 0) -> datetime:
    """A moment of the demo's week; the 2nd is a Monday."""
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that is said: in whose conversation, when, by whom."""

    user: str
    when: datetime
    speaker: str
    text: str

    def message(self) -> str | dict[str, str]:
        """It as ``add`` takes it: text is what the user says."""
        return {"role": "assistant", "content": self.text} if self.speaker == "assistant" else self.text


BEGINNING: Final = (
    Said("maya", at(2, 9, 10), "Maya", "I live in Oslo, and I work as an architect at Nordlys."),
    Said("maya", at(2, 9, 12), "Maya", "I'm allergic to hazelnuts. My sister Ingrid is vegan."),
    Said("maya", at(2, 9, 13), "Maya", "Could you book a table for two on Friday?"),
    Said("maya", at(2, 9, 14), "assistant", "Done: the Harbour Grill on Friday at 19:00."),
    Said("jonas", at(2, 18, 40), "Jonas", "My daughter Ella plays the cello on Thursdays."),
    Said("maya", at(3, 8, 5), "Maya", "My team's standup is at 9:30 in the blue room."),
    Said("maya", at(3, 20, 15), "Maya", "I'm planning a surprise party for Jonas on Saturday."),
    Said("maya", at(3, 20, 16), "Maya", "And remember, I'm allergic to hazelnuts!"),
)
NEWS: Final = (
    Said("maya", at(5, 8, 0), "Maya", "The standup is at 10:15 now."),
    Said("maya", at(5, 8, 1), "Maya", "By the way, I moved to Bergen."),
)
NOTE: Final = "Gym: the door code is 4711"
FRIDAY: Final = at(6, 17)
TUESDAY: Final = at(3, 18)
SATURDAY: Final = at(7, 10)
SUNDAY: Final = at(8, 11)
NEAR: Final = 0.3
"""Below this similarity the demo does not call something an answer."""

NEXT: Final = (
    ('memstone add "I live in Oslo" --user me', "say something, and see what is learned"),
    ('memstone search "Where is home?" --user me --explain', "find it, and see why"),
    ("memstone doctor", "is all well?"),
)
