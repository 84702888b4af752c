"""Porter's stemmer for English: "walked", "walking" and "walks" become one word.

The classic algorithm of 1980, without its later revisions. Steps are named as in the paper.
"""

from __future__ import annotations

from typing import Final

MIN_CHARS: Final = 3
"""Shorter words are left alone."""

_STEP_2: Final = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
_STEP_3: Final = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4: Final = {
    "al": "",
    "ance": "",
    "ence": "",
    "er": "",
    "ic": "",
    "able": "",
    "ible": "",
    "ant": "",
    "ement": "",
    "ment": "",
    "ent": "",
    "ion": "",
    "ou": "",
    "ism": "",
    "ate": "",
    "iti": "",
    "ous": "",
    "ive": "",
    "ize": "",
}
_ENDS_2, _ENDS_3, _ENDS_4 = tuple(_STEP_2), tuple(_STEP_3), tuple(_STEP_4)
_LONGEST: Final = 7
_SHORTEST: Final = 2


def stem_word(word: str) -> str:
    """Return the stem of a word of the letters a to z; any other text is given back as it is."""
    if len(word) < MIN_CHARS or not (word.isascii() and word.isalpha() and word.islower()):
        return word
    word = _past_and_gerund(_strip_plural(word))
    if word.endswith("y") and "v" in _vowel_pattern(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_ending(word, _STEP_2, _ENDS_2, 0)
    word = _replace_ending(word, _STEP_3, _ENDS_3, 0)
    word = _replace_ending(word, _STEP_4, _ENDS_4, 1)
    return _trim_final_letters(word)


def _vowel_pattern(word: str) -> str:
    """Return the word with each letter replaced by v (vowel) or c (consonant); y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        shape += "v" if vowel else "c"
    return shape


def _porter_measure(word: str) -> int:
    """Return how often consonants follow vowels: roughly the number of syllables."""
    return _vowel_pattern(word).count("vc")


def _ends_short(word: str) -> bool:
    """End in consonant, vowel, consonant, the last of them not w, x or y: "hop", not "show"."""
    return _vowel_pattern(word).endswith("cvc") and word[-1] not in "wxy"


def _strip_plural(word: str) -> str:
    """Do step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_and_gerund(word: str) -> str:
    """Do step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _porter_measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            base = word.removesuffix(suffix)
            return _restore_ending(base) if "v" in _vowel_pattern(base) else word
    return word


def _restore_ending(word: str) -> str:
    """Do step 1b, second half: what is left of "hoped" and "hopped" gets its true ending back."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-2:-1] == word[-1] and word[-1] not in "aeioulsz" and _vowel_pattern(word).endswith("cc"):
        return word[:-1]
    return word + "e" if _porter_measure(word) == 1 and _ends_short(word) else word


def _replace_ending(word: str, endings: dict[str, str], ends: tuple[str, ...], above: int) -> str:
    """Return steps 2 to 4: the longest ending that fits is replaced if what stays measures more than ``above``."""
    if not word.endswith(ends):  # most words
        return word
    for length in range(min(_LONGEST, len(word)), _SHORTEST - 1, -1):
        ending = word[-length:]
        if ending in endings:
            base = word[:-length]
            blocked = ending == "ion" and not base.endswith(("s", "t"))
            return word if blocked or _porter_measure(base) <= above else base + endings[ending]
    return word


def _trim_final_letters(word: str) -> str:
    """Do step 5: remove a final e, then one l of a final double l."""
    if word.endswith("e"):
        base = word[:-1]
        measure = _porter_measure(base)
        if measure > 1 or (measure == 1 and not _ends_short(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _porter_measure(word) > 1 else word
