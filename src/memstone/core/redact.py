"""Mask credentials, card numbers and other secrets in a text.

What is looked for is listed in ``Sensitive``; a ``RedactPolicy`` says per kind whether it is left alone, masked or a
reason to refuse the whole message. A mask is ``[redacted:<kind>]``. The same text gives the same result, masking twice
changes nothing more, and the time grows with the length of the text only: every pattern is bounded or starts where the
one before cannot have started.

Identifiers are not secrets: UUIDs, commit hashes, order numbers, versions and dates stay as they are, unless they are
assigned to a name such as ``token``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import chain, pairwise
from typing import Final, TypeAlias

from memstone.errors import ConfigError

# --- what a text must hold before it is worth a closer look -----------------------------------------------------------


_WORDS: Final = (
    ("key", "api_key"),
    ("secret", "api_key"),
    ("token", "api_key"),
    ("credential", "api_key"),
    ("authorization", "api_key"),
    ("private key", "private_key"),
    ("passw", "password"),
    ("passphrase", "password"),
    ("passcode", "password"),
    ("pwd", "password"),
    ("_pass", "password"),
    ("://", "password"),
    ("://", "url"),
    ("www.", "url"),
    ("@", "email"),
)
_DIGIT: Final = re.compile("[0-9]")
_DIGITS: Final = ((7, "phone"), (9, "ssn"), (13, "card"), (13, "account"))
_IBAN_START: Final = re.compile("[0-9]{2}(?<=[A-Za-z]{2}[0-9]{2})")
_LONG_WORD: Final = 12
"""Every token that is told by its shape has a digit and is written in one piece, at least so long."""

_NONE: Final[frozenset[str]] = frozenset()


def possible_kinds(text: str) -> frozenset[str]:
    """Return the kinds that this text may hold, by the names of ``Sensitive``."""
    small = text.lower()
    kinds = [kind for word, kind in _WORDS if word in small]
    if _DIGIT.search(text):
        kinds += _by_digits(text, small)
    return frozenset(kinds) if kinds else _NONE


def _by_digits(text: str, small: str) -> list[str]:
    count = len(_DIGIT.findall(text))
    kinds = [kind for least, kind in _DIGITS if count >= least]
    if "pin" in small:
        kinds.append("password")
    if _IBAN_START.search(text):
        kinds.append("iban")
    if len(max(text.split(), key=len, default="")) >= _LONG_WORD:
        kinds.append("api_key")
    return kinds


# --- finders of secrets -----------------------------------------------------------------------------------------------


Span: TypeAlias = tuple[int, int]
Finder: TypeAlias = Callable[[str], Iterator[Span]]
Test: TypeAlias = Callable[[str], bool]


def pattern_finder(pattern: str, test: Test | None = None, flags: int = 0) -> Finder:
    """Find the last group of a pattern (or all of it), if the test holds for it."""
    compiled = re.compile(pattern, flags | re.ASCII)

    def find(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            group = match.lastindex or 0
            if test is None or test(match[group]):
                yield match.span(group)

    return find


def any_of(*finders: Finder) -> Finder:
    """Find what any of them finds."""
    return lambda text: chain.from_iterable(finder(text) for finder in finders)


_SHAPES: Final = "[0-9]{13,19} (?:[0-9]{4}S){3}[0-9]{4} (?:[0-9]{4}S){3,4}[0-9]{1,3} [0-9]{4}S[0-9]{6}S[0-9]{4,5}"
_LONG_NUMBER: Final = re.compile("[0-9](?:[ \u00a0-]?[0-9]){12}")
_CARD_START: Final = re.compile("[3-6]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720")


def number_finder(test: Test) -> Finder:
    """Find numbers of 13 to 19 digits, in one piece or in the groups they are written in on a card."""
    # Looked at ahead, not consumed: a number before the card must not take the card's first digits along.
    shapes = [shape.replace("S", "[ \u00a0-]") for shape in _SHAPES.split()]
    find = any_of(*(pattern_finder(rf"(?<!\w)(?<![0-9][.,])(?=({shape})(?!\w))", test) for shape in shapes))
    return lambda text: find(text) if _LONG_NUMBER.search(text) else iter(())


def is_card(digits: str) -> bool:
    """Return whether the check digit is right and the number starts as cards do; a time in milliseconds does not."""
    numbers = [int(char) for char in reversed(digits) if char.isdigit()]
    luhn = (sum(numbers[::2]) + sum(sum(divmod(2 * number, 10)) for number in numbers[1::2])) % 10 == 0
    return luhn and _CARD_START.match(digits) is not None


_IBAN: Final = re.compile(r"(?<![A-Za-z0-9])([A-Za-z]{2})[0-9]{2}(?:[ ]?[A-Za-z0-9]){11,30}")
_IBAN_CHARS: Final = {
    word[:2]: int(word[2:])
    for word in """AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29
    ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21
    LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24
    SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20""".split()
}


def find_ibans(text: str) -> Iterator[Span]:
    """Find account numbers whose country, length and check digits are right."""
    for match in _IBAN.finditer(text):
        wanted = _IBAN_CHARS.get(match[1].upper(), 0)
        places = [at for at in range(*match.span()) if text[at] != " "][:wanted]
        if wanted and len(places) == wanted and not text[places[-1] + 1 : places[-1] + 2].isalnum():
            chars = "".join(text[at] for at in places)
            if int("".join(str(int(char, 36)) for char in chars[4:] + chars[:4])) % 97 == 1:
                yield places[0], places[-1] + 1


# --- credentials and numbers that nobody should find in a database ----------------------------------------------------


class Sensitive(StrEnum):
    """What can be found; where two overlap, the mask names the one that starts first, then the one listed first."""

    PRIVATE_KEY = "private_key"
    API_KEY = "api_key"
    PASSWORD = "password"  # noqa: S105 - the name of a kind
    CARD = "card"
    IBAN = "iban"
    SSN = "ssn"
    EMAIL = "email"
    URL = "url"
    PHONE = "phone"
    ACCOUNT = "account"


class RedactionAction(StrEnum):
    """What becomes of a kind: left alone, masked, or the whole message refused."""

    OFF = "off"
    MASK = "mask"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class RedactPolicy:
    """What to do about each kind; plain strings are taken too. ``account`` is any number of 13 to 19 digits."""

    private_key: RedactionAction = RedactionAction.MASK
    api_key: RedactionAction = RedactionAction.MASK
    password: RedactionAction = RedactionAction.MASK
    card: RedactionAction = RedactionAction.MASK
    iban: RedactionAction = RedactionAction.MASK
    ssn: RedactionAction = RedactionAction.MASK
    email: RedactionAction = RedactionAction.OFF
    url: RedactionAction = RedactionAction.OFF
    phone: RedactionAction = RedactionAction.OFF
    account: RedactionAction = RedactionAction.OFF

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value not in list(RedactionAction):
                raise ConfigError(f"redact.{field.name} is {value!r}", hint="one of off, mask, drop")
            object.__setattr__(self, field.name, RedactionAction(value))

    def action(self, kind: Sensitive) -> RedactionAction:
        """Return what to do about one kind."""
        return RedactionAction(getattr(self, kind))


@dataclass(frozen=True, slots=True)
class RedactedText:
    """The text that may be stored and what was found in it; of a dropped message nothing is left."""

    text: str
    found: tuple[Sensitive, ...] = ()
    dropped: bool = False


_ROUNDS: Final = 8  # a mask can uncover a neighbour that was not set apart before; more than two are never seen
_MASK: Final = re.compile(r"\[redacted:[a-z_]+\]")


def redact_text(text: str, policy: RedactPolicy | None = None) -> RedactedText:
    """Return the text with everything masked that the policy names; ``found`` lists the kinds, each once."""
    return redact_moving(text, policy or DEFAULT_POLICY, ())[0]


def redact_moving(text: str, policy: RedactPolicy, places: Sequence[Span]) -> tuple[RedactedText, list[Span]]:
    """Return the same, and where these places of the text are afterwards; one that cuts a mask takes in all of it."""
    seen: set[Sensitive] = set()
    moved = list(places)
    for _ in range(_ROUNDS):
        spans = _find_secrets(text, policy)
        if not spans:
            break
        seen.update(kind for _, _, kind in spans)
        masks = _merge_spans(spans)
        text, moved = _apply_masks(text, masks), [_move_span(place, masks) for place in moved]
    if not seen:
        return RedactedText(text), moved
    dropped = any(policy.action(kind) is RedactionAction.DROP for kind in seen)
    return RedactedText("" if dropped else text, tuple(kind for kind in Sensitive if kind in seen), dropped), moved


def redact_preview(text: str) -> str:
    """Return the text as consoles and logs may show it: also without addresses, links, phone and account numbers."""
    return redact_text(text, PREVIEW_POLICY).text


def _find_secrets(text: str, policy: RedactPolicy) -> list[tuple[int, int, Sensitive]]:
    kinds = possible_kinds(text)
    if not kinds:
        return []
    return [
        (start, end, kind)
        for kind, finder in _FINDERS
        if kind in kinds and policy.action(kind) is not RedactionAction.OFF
        for start, end in finder(text)
        if not _MASK.fullmatch(text, start, end)
    ]


def _merge_spans(spans: Iterable[tuple[int, int, Sensitive]]) -> list[tuple[int, int, str]]:
    """Return what stands for what: spans that overlap are one, named by the first."""
    masks: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(spans, key=lambda span: (span[0], _RANK[span[2]])):
        if masks and start < masks[-1][1]:
            masks[-1] = (masks[-1][0], max(masks[-1][1], end), masks[-1][2])
        else:
            masks.append((start, end, f"[redacted:{kind}]"))
    return masks


def _apply_masks(text: str, masks: Sequence[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, mask in masks:
        parts += [text[at:start], mask]
        at = end
    return "".join(parts) + text[at:]


def _move_span(place: Span, masks: Sequence[tuple[int, int, str]]) -> Span:
    start, end = place
    shift_start = shift_end = 0
    for begin, finish, mask in masks:
        grown = len(mask) - (finish - begin)
        if begin < place[1] and finish > place[0]:  # it is cut, or lies within
            start, end = min(start, begin), max(end, finish)
        shift_start += grown if finish <= start else 0
        shift_end += grown if finish <= end else 0
    return start + shift_start, end + shift_end


def _letters_and_digits(text: str) -> bool:
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


_PREFIXED: Final = pattern_finder(
    r"""(?<![\w-])(?:
        sk-[\w-]{16,} | (?:sk|rk)_(?:live|test)_\w{10,}
        | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,} | glpat-[\w-]{16,}
        | A[KS]IA[A-Z0-9]{16}(?!\w)
        | xox[abeoprs]-[A-Za-z0-9-]{10,}
        | AIza[\w-]{30,} | ya29\.[\w-]{20,}
        | (?:hf|gsk|npm|shpat|dop_v1)_[A-Za-z0-9]{20,} | (?:pypi|xai)-[\w-]{20,}
        | SG\.[\w-]{16,64}\.[\w-]{16,}
        | eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?
    )""", _letters_and_digits, re.VERBOSE
)  # fmt: skip
_BEARER: Final = pattern_finder(r"\bbearer {1,8}([\w.~+/=-]{12,})", _letters_and_digits, re.IGNORECASE)
_HEADER: Final = pattern_finder(r"\bauthorization: ?[a-z]{1,20} {1,8}([\w.~+/=-]{8,})", None, re.IGNORECASE)
_VALUE: Final = r"""(?!["']?\[redacted:)(?:"([^"\n]{3,200})"|'([^'\n]{3,200})'|((?:[^\s"'&,;]|&(?!\w+=)){3,}))"""
_KEY_NAME: Final = r"(?:api[ _-]?key|access[_-]?key(?:[_-]?id)?|secret(?:[_-]?key)?|token|credentials?)"
_ASSIGN: Final = r"""["']?[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,8}"""
_CODE: Final = re.compile(r"[$%{<*]|[A-Za-z_][\w.]*[(\[{]")
_PLACEHOLDERS: Final = frozenset(
    """required optional none null true false string str text value incorrect invalid wrong forgotten changed reset yes
    unknown hidden missing expired weak strong secure correct important empty blank default secret private safe same
    good bad fine easy hard simple long short stuff here below above nothing something everything this that not working
    mine yours ours encrypted hashed password undefined self bytes int object leaked public stolen
    broken gone lost right okay unique complex terrible great old""".split()
)


def _is_value(text: str) -> bool:
    """Return whether it is neither code nor a word that says something about a password instead of being one."""
    return not _CODE.match(text) and text.strip(".!?:)").casefold() not in _PLACEHOLDERS


def _assigned_keys(text: str) -> Iterator[Span]:
    for match in _ASSIGNED_KEY.finditer(text):
        group = match.lastindex or 0
        value = match[group]
        plausible = _letters_and_digits(value) or (match["tight"] and not value.isdigit())
        if len(value) >= (_SHORTEST_SAID if match["said"] else _SHORTEST_KEY) and plausible and _is_value(value):
            yield match.span(group)


_ASSIGNED_KEY: Final = re.compile(
    rf"{_KEY_NAME}(?:(?P<tight>=(?=\S))|(?P<said> (?:is|was):? {{1,3}})|{_ASSIGN}){_VALUE}", re.IGNORECASE | re.ASCII
)
_SHORTEST_KEY, _SHORTEST_SAID = 6, 12  # "the token is base64 encoded" tells no token

_IN_ADDRESS: Final = pattern_finder(r"(?<=[a-zA-Z0-9])://[^\s:/@]{0,256}:((?!\[redacted:)[^\s@/]{1,256})@")
_PIN: Final = pattern_finder(r"\bpin(?: code| number)?(?: is| was|:|=)[ ]{0,3}([0-9]{3,12})\b", None, re.IGNORECASE)
_STATED_PASSWORD: Final = re.compile(
    rf"""\b(?:password|passcode|passphrase|pwd)(?:[ ](?:for|to|of|on|at|in|from)[ ][^\n.!?:=]{{1,40}}?)?
    [ ](?:is|was)(?:[ ](?:now|still|currently|just))?:?[ ]{{1,3}}{_VALUE}""",
    re.IGNORECASE | re.ASCII | re.VERBOSE,
)
_ASSIGNED_PASSWORD: Final = re.compile(
    rf"(?:passw(?:or)?d|passphrase|passcode|pwd|(?<=_)pass){_ASSIGN}{_VALUE}", re.IGNORECASE | re.ASCII
)
_CLAUSE_END: Final = re.compile(r"""[.!?]?["')\]}]*\s*(?:$|\n|[,;&])""")


def _find_passwords(text: str) -> Iterator[Span]:
    """Yield values that look like one: quoted, or not a plain word, or the last word of a clause."""
    for match in chain(_ASSIGNED_PASSWORD.finditer(text), _STATED_PASSWORD.finditer(text)):
        group = match.lastindex or 0
        start, quoted = match.start(group), group < match.re.groups
        word = match[group] if quoted else match[group].rstrip(".?)")
        plain = word.isalpha() and (word.islower() or word.istitle())
        last = _CLAUSE_END.match(text, start + len(word)) and not word.endswith(("ed", "ing"))
        if word and _is_value(word) and (quoted or last or not plain):
            yield start, start + len(word)


_PEM_MARK: Final = re.compile(r"-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LINES: Final = re.compile(r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{16,}+)*(?:\s*[A-Za-z0-9+/]{1,15}={1,2})?")


def _private_keys(text: str) -> Iterator[Span]:
    """Yield whole blocks; of a block without its end, the lines that are key and not prose."""
    for mark, following in pairwise([*_PEM_MARK.finditer(text), None]):
        if mark and mark[1] == "BEGIN":
            full = following if following and following[1] == "END" else _PEM_LINES.match(text, mark.end())
            yield mark.start(), full.end() if full else mark.end()


_SSN_DIGITS: Final = r"(?!000|666|9)[0-9]{3}%s(?!00)[0-9]{2}%s(?!0000)[0-9]{4}(?![\w-])"
_SSN_WRITTEN: Final = pattern_finder(r"(?<![\w-])" + _SSN_DIGITS % ("-", "-"))
_SSN_NAMED: Final = pattern_finder(
    rf"\b(?:ssn|social security)\b[^0-9\n]{{0,24}}({_SSN_DIGITS % ('[ -]?', '[ -]?')})", None, re.IGNORECASE
)
_PHONE: Final = r"""(?<![\w+.-])(?:
    \+[0-9](?:[ ().-]{0,2}[0-9]){6,14}
    | (?:1[ .-])?(?:\([0-9]{3}\)[ ]?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}
    | 0[0-9]{2,4}[ /-][0-9]{3,4}[ -]?[0-9]{3,4}
    )(?![\w-])"""

_FINDERS: Final[tuple[tuple[Sensitive, Finder], ...]] = (
    (Sensitive.PRIVATE_KEY, _private_keys),
    (Sensitive.API_KEY, any_of(_PREFIXED, _BEARER, _HEADER, _assigned_keys)),
    (Sensitive.PASSWORD, any_of(_IN_ADDRESS, _PIN, _find_passwords)),
    (Sensitive.CARD, number_finder(is_card)),
    (Sensitive.IBAN, find_ibans),
    (Sensitive.SSN, any_of(_SSN_WRITTEN, _SSN_NAMED)),
    (Sensitive.EMAIL, pattern_finder(r"(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")),
    (Sensitive.URL, pattern_finder(r"""(?<![\w+.-])(?:[a-zA-Z][\w+.-]{1,20}://|www\.)[^\s<>"']*[^\s<>"'.,;:!?)}]""")),
    (Sensitive.PHONE, pattern_finder(_PHONE, None, re.VERBOSE)),
    (Sensitive.ACCOUNT, number_finder(bool)),
)
_RANK: Final = {kind: rank for rank, kind in enumerate(Sensitive)}
DEFAULT_POLICY: Final = RedactPolicy()
PREVIEW_POLICY: Final = RedactPolicy(
    email=RedactionAction.MASK, url=RedactionAction.MASK, phone=RedactionAction.MASK, account=RedactionAction.MASK
)


PREVIEW_CHARS: Final = 280
"""So many characters of a memory are shown."""

_MASK_START: Final = "[redacted:"


def preview_text(text: str, most: int = PREVIEW_CHARS) -> str:
    """Return the beginning of a text as a console may show it; a word or a mask is never cut."""
    clean = redact_preview(text)  # before it is cut: half a number is not recognised
    if len(clean) <= most:
        return clean
    output = clean[:most]
    opened = output.rfind(_MASK_START)
    if opened >= 0 and "]" not in output[opened:]:
        output = output[:opened]
    elif not clean[most].isspace() and " " in output:
        output = output[: output.rindex(" ")]
    return f"{output.rstrip()} …"
