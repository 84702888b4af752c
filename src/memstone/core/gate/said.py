"""What a message says in the user's own words: no code, quotations, pasted text, or text handed over to be worked on.

What is only mentioned asks for nothing: "Translate: do you remember me?" is not about remembering.
"""

# ruff: noqa: E501 - a pattern is easier to read and to change as one line than cut into pieces

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

HEAD: Final = 800
TAIL: Final = 300
"""Of a long message the first and the last characters are read: there it says what is wanted, the rest is material."""

QUOTED_MARK: Final = '""'
"""Stands where something was quoted."""

_MANY_LINES: Final = 3

_CODE: Final = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_QUOTED: Final = re.compile(
    r"\"[^\"]*\"|\u201c[^\u201c\u201d]*\u201d|\u201e[^\u201c\u201d\u201e]*[\u201c\u201d]|\u00ab[^\u00ab\u00bb]*\u00bb|\u300c[^\u300c\u300d]*\u300d"
    r"|(?<![\w'])'[^'\n]{2,}?'(?!\w)|\u2018[^\u2018\u2019\n]{2,}?\u2019(?!\w)|\"[^\"]*\Z"
)
_QUOTES: Final = "\"'\u201c\u201e\u00ab\u300c\u2018"
_BARE_QUOTES: Final = re.compile(r"[\"\u201c\u201d]")
_WORK: Final = (
    r"translat\w*|rewrite|reword|rephrase|paraphrase|summari[sz]\w*|tl;?dr|shorten|condense|simplify|proofread|correct"
    r"|fix|polish|improve|edit|convert|capitali[sz]e|title case|upper ?case|lower ?case|format|classify|categori[sz]e"
    r"|label|extract|highlight|spell(?:ing| ?check)?|grammar|punctuat\w*|count|sort|reverse|find|spot|identify|underline|alphabeti[sz]e|order|rank|arrange|turn|change|make|put|fill|complete|repeat|echo|quote|print|output"
    r"|explain|analy[sz]e|review|critique|debug|refactor|transcribe|solve|compute|calculate|evaluate|sentiment|tone"
    r"|reply|respond|answer|write|say|continue the (?:text|story|sentence)|complete the (?:text|sentence)|true or false"
    r"|\u00fcbersetz\w*|korrigier\w*|fasse?|traduis\w*|tradui\w*|corrige\w*|traduc\w*|resum\w*"
)
_MATERIAL: Final = (
    r"(?:this|the following|following|these|below|the)(?: \w+)? (?:text|sentences?|paragraphs?|passage|e-?mail|message"
    r"|article|essay|poem|lyrics|letter|note|review|code|snippet|log|error|output|word|words|phrase|title|tweet|story"
    r"|list|quote|question|riddle|puzzle|statement|transcript|conversation|dialogue|abstract|post)"
)
_GIVEN: Final = re.compile(rf"\b(?:{_WORK}|{_MATERIAL}|this|following)\b", re.IGNORECASE)
_COMMAND: Final = re.compile(
    rf"(?:\W|please|can you|could you|would you|now|ok|hey|hi)*(?:{_WORK})\b|.*\b{_MATERIAL}\b|.*\b(?:this|following)\W*\Z",
    re.IGNORECASE,
)
_COLON: Final = re.compile(r":(?=\s)\s*\S")
_LABELLED: Final = re.compile(
    r"\s*(?:text|passage|article|email|context|quote|subject|from|to|user|customer)\s*:", re.IGNORECASE
)

_UNQUOTED: Final = re.compile(
    r"(?P<before>\btranslat\w+ )(?!(?:my|our|the|that|this|it|what|into?|to)\b).{1,300}?(?P<after> (?:in)?to \w{1,40}\W{0,40})\Z"
    r"|(?P<say>\bhow (?:do|would|does|can|should) (?:you|i|we|one|people) (?:say|write|spell|pronounce) ).+"
    r"|(?P<mean>\bwhat (?:does|do|is meant by) ).{1,300}?(?P<means> (?:mean|means|stand for|refer to)\b)"
    r"|(?P<synonym>\b(?:synonyms?|antonyms?|rhymes?|another word|other words|opposite|plural|past tense|meaning"
    r"|definition|etymology|difference|spelling|pronunciation) (?:for|of|with|between) ).+"
    r"|(?P<order>\b(?:reply|respond|answer|say|repeat|print|output|write|type|return|echo)(?: \w+){0,3}? (?:with|only|just"
    r"|exactly|verbatim|after me|the words?|the phrase|the text|the following|the sentence)\b)(?! what (?:i|we|you)\b).+"
    r"|(?P<fiction>\b(?:write|compose|create|make up|invent|tell|imagine|draft|generate|give)(?: me| us)?(?: \w+){1,3}? "
    r"(?:poem|story|song|haiku|joke|limerick|essay|scene|dialogue|sketch|fable|tale|riddle|plot|lyrics|sonnet|novel) "
    r"(?:about|where|in which|on|of|that|with|set) )(?!.{0,300}\b(?:my|our|me|us|i|we)\b).+",
    re.IGNORECASE | re.DOTALL,
)
_FRAMES: Final = """translat say writ spell pronounc mean stand refer onym rhyme word opposite plural tense definition etymolog
difference reply respond answer repeat print output type return echo compose create make invent tell imagine draft
generat give""".split()
"""What has to stand in a message for any of these; looking for it is quicker."""

_TITLE: Final = re.compile(
    r"(?<=[a-z,] )(?:(?:[A-Z][\w']*|I),? (?:(?:the|of|a|in|is) )*){2,}[A-Z][\w']*"
    r"|(?<=[a-z,] )(?:Yesterday|Remember|(?:My|Our|Forget|Before|Last|Total) [A-Z][\w']*)(?: [A-Z][\w']*)*"
)
"""Works are written with capitals: "How I Met Your Mother" is nobody's mother."""

_LOG_LINE: Final = re.compile(
    r"\s*(?:>|\$ |#!|//|/\*|\*/|at [\w.$]+\(|File \"|Traceback|[\w.]*(?:Error|Exception)\b|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL|TRACE)\b|[\w-]+: [\w/.-]+$|(?:From|To|Subject|Date|Cc|Sent): |[{}\[\]();]+\s*$"
    r"|(?:def|class|import|from|return|function|const|let|var|public|private|SELECT|INSERT|UPDATE|CREATE) )|.*[;{}]\s*$"
)
_PASTED: Final = re.compile(
    r"[{<\[$](?!\s*\w+\s*\])[^\n]*\Z|\[(?:INFO|WARN|WARNING|ERROR|DEBUG)\b|npm ERR|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\$ \w"
)
_LETTER: Final = re.compile(r"\s*(?:dear|hi|hello|hey)\b.{0,40}[,!]\s*$", re.IGNORECASE)

_CONTRACTED: Final = re.compile(
    r"\b(?:(what|who|where|when|how|that|it|there|here|he|she)'?s|(let)'?s|(i)'?m|(i|you|we|they)'?ve|(i|you|we|they|it)'ll"
    r"|(i|you|we|they|he|she)'d|(you|we|they)'re|(did|do|does|have|has|had|was|were|is|are|could|would|should|ca|wo)n'?t)\b"
)
_EXPANDED: Final = (" is", " us", " am", " have", " will", " would", " are", "")
_IRREGULAR: Final = {"ca": "can", "wo": "will"}
_CONTRACTED_WORDS: Final = frozenset(
    """'s whats whos wheres whens hows thats lets im i'm ive i've youve you've weve we've theyve they've i'll you'll we'll
    they'll it'll i'd you'd we'd they'd he'd she'd you're we're they're didn't didnt don't dont doesn't doesnt haven't havent
    hasn't hasnt hadn't hadnt wasn't wasnt weren't werent isn't isnt aren't arent couldn't couldnt wouldn't wouldnt shouldn't
    shouldnt can't cant won't wont""".split()
)
_TOKEN: Final = re.compile(r"[^\W_]+(?:(?:-|'(?!s\b))[^\W_]+)*|'s\b|\"\"|[^\w\s]")
_WORD: Final = re.compile(r"[^\W_]")
_COUNTRY: Final = re.compile(r"\bU\.?S\.?(?![\w])")


@dataclass(frozen=True, slots=True)
class Said:
    """A message's own words.

    ``text`` is as it was written, ``low`` in small letters with contractions written out, ``tokens`` its words and
    marks in order, ``words`` the same without order.
    """

    text: str
    low: str
    tokens: list[str]
    words: frozenset[str]


def own_words_of(message: str) -> Said:
    """The user's own words in a message."""
    text = own_words(message)
    low = " ".join((_COUNTRY.sub("usa", text) if "U" in text else text).lower().split())
    tokens = _TOKEN.findall(low)
    words = frozenset(tokens)
    if not words.isdisjoint(_CONTRACTED_WORDS):
        low = _CONTRACTED.sub(_expand, low)
        tokens = _TOKEN.findall(low)
        words = frozenset(tokens)
    return Said(text, low, tokens, words)


def _expand(found: re.Match[str]) -> str:
    at = found.lastindex or 1
    if found[0] == "its":
        return found[0]
    stem = found[at]
    return _IRREGULAR.get(stem, stem) + _EXPANDED[at - 1]


def own_words(message: str) -> str:
    """A message without what the user only quotes, pastes or hands over."""
    text = message.strip()
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n{text[-TAIL:]}"
    text = text.replace("\u2019", "'").replace("\u02bc", "'")
    if "`" in text:
        text = _CODE.sub(" ", text)
    if _PASTED.match(text):
        return ""
    if "\n" in text:
        text = _asking_lines(text)
    text = _unquoted(text)
    if ":" in text:
        text = _before_material(text)
    low = text.lower()
    if low != text:
        text = _TITLE.sub(QUOTED_MARK, text)
    framed = any(word in low for word in _FRAMES)
    return (_UNQUOTED.sub(_keep_frame, text) if framed else text).strip()


def _unquoted(text: str) -> str:
    if not any(mark in text for mark in _QUOTES):
        return text
    left = _QUOTED.sub(f" {QUOTED_MARK} ", text)
    return left if _WORD.search(left) else _BARE_QUOTES.sub(" ", text)


def _before_material(text: str) -> str:
    colon = _COLON.search(text)
    if colon is None:
        return text
    head = text[: colon.start()]
    return f"{head}:" if _GIVEN.search(head) or _LABELLED.match(text) else text


def _keep_frame(found: re.Match[str]) -> str:
    kept = [part for part in found.groups() if part]
    return QUOTED_MARK.join(kept) if len(kept) > 1 else f"{kept[0]} {QUOTED_MARK}"


def _asking_lines(text: str) -> str:
    """The lines in which the user speaks: not those of a log, a program, a quotation or a letter."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    ends = [line for line in (lines[0], lines[-1]) if _COMMAND.match(line)]
    if ends and len(lines) > 1:
        return ends[0]
    if len(lines) >= _MANY_LINES and _LETTER.match(lines[0]):
        return ""
    return " \n".join(line for line in lines if not _LOG_LINE.match(line))
