"""English, for tests that hand it to what takes a language."""

from __future__ import annotations

from typing import Final

from memstone.language.en.english import English
from memstone.language.language import Language

ENGLISH: Final[Language] = English()
