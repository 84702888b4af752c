"""Word a piece of a message as a memory: in the third person if certain, else as a quote.

Only pronouns and the verbs that go with them change. Where something stands in the way (a verb nobody knows, "it"
without what it is, a question) the memory is the quotation, which is never wrong: ``User said: "…"``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from memstone.language.en.sentences import expand_contractions
from memstone.language.en.verbs import (
    ADVERBS,
    AUXILIARIES,
    FINITE,
    PARTICIPLES,
    SAME_IN_PAST,
    VERBS,
    clause_to_third_person,
    finite_at,
    is_past,
    is_verb,
    lemmatize_verb,
    name_speaker_in_clause,
)
from memstone.language.lists import read_data
from memstone.language.text.normal import AMENDED

_DATA: Final = read_data("en", "wording")

# --- a piece of a message as a memory ---------------------------------------------------------------------------------


MAX_CHARS: Final = 500
_MOST_WORDS: Final = 40
"""What is longer is a tale with several subjects: nobody can be sure of all its verbs."""

_SPACES: Final = re.compile(r"\s+")
_OPENERS: Final = re.compile(
    r"^(?:(?:oh|ok|okay|so|well|anyway|anyways|hey|hi|hello|no thanks|no thank you|big news|yeah|yes|yep|yup|no(?=[,.!])|nope|nah|and|but|or|also|plus|btw|fyi|ps|p\.s\.|by the way"
    r"|actually|honestly|basically|tbh|ngl|lol|haha|omg|ugh|hmm|um|uh|er|right|look|listen|sure|thanks|thank you|sorry"
    r"|because|cause|cuz|since|as you know|you know|i mean|to be honest|just so you know|for context|context|update|quick update|good news|bad news|news|long story short"
    r"|guess what|turns out|well actually|mind you|the thing is|fun fact|remember|note|also also|then|really(?=,)"
    r"|(?:as|like) i (?:have )?(?:already |just )?(?:said|told you|mentioned)(?: already| before| earlier)?(?=[,:]))\b[\s,:;.!…-]*|[-–—•*>]+\s+|[^\w\s\"'“‘(\[#@$€£]+\s*)+",
    re.IGNORECASE,
)
_CLOSER: Final = re.compile(
    r"(?:\b(?:lol|lmao|haha|hahaha|tbh|btw|by the way|ngl|fyi|imo|rn|though|tho|yeah|and all that|and stuff|if that helps|if it matters|thanks|thank you|please|pls|x|xx|xo|and|but|or|so|because|cuz|then)|(?<=[^\w\s\"'”’)\]%°+#$€£/]))$",
    re.IGNORECASE,
)
_REMINDS: Final = re.compile(r"[,;] ?(?:remember|you know|you see) ?\?+\s*$", re.IGNORECASE)
"""What makes a statement look like a question: "I live in Oslo, remember?"."""

_CLOSING: Final = 20
"""So far back from the end a closing word is looked for."""

_MARKS: Final = " ,;:.!?…-–—*~"
_JOINED: Final = re.compile(
    r"^(?:and|but|or|so|because|which|who|that|where|when|while|if|with|to|of|as|than)\b", re.IGNORECASE
)
_PLACED: Final = re.compile(r"^(?:for|in|on|at|from|by|after|before|since|until)\b", re.IGNORECASE)
"""What begins with a place or a time is a sentence only where a verb follows."""

_POINTS: Final = re.compile(
    r"^(?:(?:he|she|it|they|there|here|his|her|its|their|him|them|one|both|neither|same)\b"
    r"|(?:that|this|these|those)(?='|’| (?:is|was|are|were|one|will|would|has|had|means|makes|did|does)\b))",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(
    r"^(?:not|maybe|only)\b(?! (?:all|every|everyone)\b)|\b(?:like that|like this|for it|to it|about it|of it|either)$",
    re.IGNORECASE,
)
"""What only goes on with what was said: "not more", "no recommendations like that"."""

_DONE_TO: Final = re.compile(
    r"^(?:i|we)(?:['’]\w+)? (?:\w+ ){0,3}?(?:it|them|him|her|that|this|there)(?! (?:is|was|are|i|we|my|the)\b)(?=\W|$)",
    re.IGNORECASE,
)
_OWN: Final = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves)\b", re.IGNORECASE)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i['’]?(?:m|ve|d|ll)|my|mine|we|our)\b", re.IGNORECASE)
"""Without these, whoever asks for something tells nothing about themselves: "could you find me a dentist?"."""

_ASKED: Final = re.compile(
    r"(?:what(?! an? )|how|when|where|why|which|who|whats|hows|wheres|is it|are there|does|do (?:i|we|you)|did (?:i|we|you)|can (?:i|we)|could (?:i|we)|should (?:i|we)|shall (?:i|we))(?![\w'’])",
    re.IGNORECASE,
)
_ORDERS: Final = re.compile(
    r"^(?:(?:please|pls|can (?:you|u)|could (?:you|u)|would (?:you|u)|will (?:you|u)|help|write|give|tell|suggest|recommend|explain"
    r"|translate|rewrite|proofread|summari[sz]e|remind|do not|dont|never|always|stop|gimme|lemme|redo)(?![\w'’])"
    r"|(?:make|find|show|let|draft|fix|check|list|name|add|use|keep|plan|call|answer|reply|speak|try|assume|rank|throw|get|send|work|put)"
    r" (?:me|us|my|this|that|the|it|in|with|for|him|her|them|only|these|those|some|around|round)\b)",
    re.IGNORECASE,
)
_AND_ORDERS: Final = re.compile(
    rf"[,;]? (?:so|then|and|so then|so please)[, ]+{_ORDERS.pattern[1:]}.*$|[,;] please .*$", re.IGNORECASE | re.DOTALL
)
"""What is asked for behind a statement: it belongs to the talk, and not to what is stated."""

_MENTIONED: Final = re.compile(
    r"(?:(?:and|oh|so|but|also|btw|by the way)\b[\s,]*)*(?:did|have) i (?:already |ever )?(?:say|said|mention|mentioned|tell you|told you)"
    r"(?: already)?(?: that)? (?=(?:i|i['’]?m|my|we|our)\b)",
    re.IGNORECASE,
)
"""What asks for nothing and tells what follows: "did I mention that I'm vegan?"."""

_TO_YOU: Final = re.compile(r"\b(?:you|your|u|ur)\b", re.IGNORECASE)
_SUBJECT: Final = re.compile(r"^(?:i|we)\b", re.IGNORECASE)
_OBJECT: Final = re.compile(r"(?:me|us|my|our)\b", re.IGNORECASE)
_COUNTED: Final = re.compile(
    r"\band i (?:are|were)\b|^we (?:are|were) (?:now |only |about )?(?:an?|the|both|all|\d+|[a-z]+teen|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.IGNORECASE,
)
"""What is true of all of them together is not true of each."""

_OF_US: Final = re.compile(r"\bof us\b|\bus (?:all|both|two|three)\b", re.IGNORECASE)
"""Some of several people, who are not the speaker."""

_NO_LONGER: Final = re.compile(r"\bno longer ", re.IGNORECASE)
_DETERMINED: Final = re.compile(r"(?:the|a|an)\b", re.IGNORECASE)
_OWNED: Final = re.compile(r"^(?:my|our)\b", re.IGNORECASE)
_QUOTES: Final = str.maketrans({"“": "'", "”": "'", '"': "'"})
_DONE: Final = frozenset(_DATA["done"].split())
"""Verbs that begin a sentence only where "I" was left out."""

_REPLY_VERBS: Final = frozenset("lets looks sounds makes seems feels depends thanks goes works".split())
"""Words with which people answer, and no note about somebody begins: "sounds good", "works for me"."""

_PRONOUNS: Final = frozenset("i we you he she it they who".split())
_RELATIVE: Final = frozenset("that which what there this these and but because when where if how".split())
_SINGULAR: Final = frozenset("am was have had do did will would can could should must might may used".split())


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a message: its words, the sentence around it, what stands before that, and the question it answers."""

    text: str
    sentence: str
    before: str = ""
    question: str = ""
    is_own: bool = False
    """Whether it is about the speaker."""

    subject: str = ""
    """With whom an earlier piece of the sentence begins, where it is the speaker: ``I`` or ``we``."""

    leans: bool = False
    """Whether it takes the words before it to understand it."""

    is_wish: bool = False
    """Whether it says how to answer, which may be said in a word or two."""


@dataclass(frozen=True, slots=True)
class FactText:
    """A memory; ``is_quote`` says that it is in the speaker's own words."""

    text: str
    is_quote: bool = False
    plain: str = ""
    """What a quotation says about the speaker, in words that are right but not clear enough to be the memory."""


def build_wording(clause: Clause, who: str = "User") -> FactText | None:
    """Put a piece of a message as a memory about who said it; None where too little is left of it."""
    if clause.question:
        text = statement_from_answer(clause.question, clause.text, who)
        return (
            FactText(text) if text else FactText(quote_with_question(clause.question, clause.text, who), is_quote=True)
        )
    clause = replace(clause, text=_REMINDS.sub("", clause.text), sentence=_REMINDS.sub("", clause.sentence))
    if mentions := _MENTIONED.match(clause.text):
        clause = replace(clause, text=clause.text[mentions.end() :].rstrip("?! "))
    bare = strip_filler(clause.text)
    is_short = (
        len(expand_contractions(bare).split()) < _FEW_WORDS and len(strip_filler(clause.sentence).split()) < _FEW_WORDS
    )
    if is_short and not clause.is_wish and not (clause.leans and clause.before):
        return None
    if clause.text.rstrip("\"') ").endswith("?") or _ASKED.match(bare) or _ORDERS.match(bare):
        is_told = clause.is_wish or _FIRST_PERSON.search(bare) is not None
        return (
            FactText(_truncate_quote(f'{who} asked: "{_clean_for_quote(clause.sentence)}"'), is_quote=True)
            if is_told
            else None
        )
    text = (
        ""
        if clause.leans or (clause.is_wish and not _OWN.search(bare))
        else _reword(clause.text, who, clause.subject, is_own=clause.is_own)
    )
    if not text or _has_two_subjects(text, who):
        return replace(_quote_clause(clause, bare, who), plain=text)
    return FactText(text)


def quote_with_question(question: str, text: str, who: str) -> str:
    """Return words of the speaker with what they answer."""
    begins = "Asked" if question.endswith("?") else "In reply to"
    return _truncate_quote(f'{begins} "{_clean_for_quote(question)}", {who} said: "{_clean_for_quote(text)}".')


def is_fragment(text: str) -> bool:
    """Return whether words are no sentence: too few, or without a verb that says something of somebody."""
    words = expand_contractions(strip_filler(text)).split()
    if len(words) < _FEW_WORDS:
        return True
    begins = words[0].lower() in _PRONOUNS or _begins_with_verb(" ".join(words))
    return finite_at(words) <= 0 and not begins


def is_of_something(text: str) -> bool:
    """Return whether words mention something that they do not name: "the policy runs out", "steam page is up"."""
    bare = strip_filler(text)
    if not bare or _OWN.search(bare) or _begins_with_verb(expand_contractions(bare)):
        return False
    return bare[0].islower() or bool(_DETERMINED.match(bare))


def is_context_dependent(clause: Clause) -> bool:
    """Return whether a piece points at what was said before it: with its first word, or with what is done to "it"."""
    bare = strip_filler(clause.text)
    return bool(_POINTS.match(bare) or _DONE_TO.match(bare) or _GOES_ON.search(bare))


def reword_continuation(clause: Clause, who: str) -> str:
    """Return a piece behind a sentence that is told of the speaker; '' where it has to be quoted."""
    text = reword_in_third_person(clause.text, who, clause.subject, is_own=clause.is_own, follows=True)
    bare = expand_contractions(clause.text).strip(f"{_MARKS} ")
    is_plain = is_fragment(clause.text) and bare and not _OWN.search(bare) and not _TO_YOU.search(bare)
    return text or (_capitalize_sentence(bare) if is_plain else "")


def is_text_in_quote(quote: str, text: str) -> bool:
    """Return whether a quotation holds these words."""
    return _clean_for_quote(strip_filler(text)) in quote


def quote_speaker(text: str, who: str) -> str:
    """Return words of the speaker as a memory."""
    return _truncate_quote(f'{who} said: "{_clean_for_quote(text)}"')


_WHAT: Final = re.compile(r"(?:\w+,? )?what(?: is|'s|’s| are) your (?P<what>[\w' -]{2,40})\?$", re.IGNORECASE)
_WHETHER: Final = re.compile(r"(?:\w+,? )?(?P<verb>do|are|have) you (?P<what>[^?]{2,80})\?$", re.IGNORECASE)
_YES: Final = re.compile(r"(?:yes|yeah|yep|yup|sure|i do|i am|i have|of course|correct|right)\b", re.IGNORECASE)
_NO: Final = re.compile(r"(?:no|nope|nah|not|never)\b", re.IGNORECASE)
_VERBS: Final = {"do": ("I", "I do not"), "are": ("I am", "I am not"), "have": ("I have", "I have not")}


def statement_from_answer(question: str, answer: str, who: str) -> str:
    """Return what the answer to a plain question says; '' where only both together tell it."""
    bare = strip_filler(answer).rstrip(".!") if not _YES.match(answer) else answer
    if (found := _WHAT.match(question)) and bare and not _YES.match(bare) and not _NO.match(bare):
        return f"{who}'s {found['what']} is {bare[:1] + bare[1:]}."
    if (found := _WHETHER.match(question)) and len(answer.split()) <= _FEW_WORDS:
        count = 0 if _YES.match(answer) else 1 if _NO.match(answer) else None
        if count is not None:
            return reword_in_third_person(
                _answer_in_first_person(found["verb"].lower(), found["what"], count).replace(" your ", " my "), who
            )
    return ""


def _answer_in_first_person(verb: str, what: str, count: int) -> str:
    """Return a question in the first person, affirmed or denied: who does not "still" do it does so no longer."""
    if count and what.startswith("still "):
        return f"{'I am no longer' if verb == 'are' else 'I no longer'} {what[len('still ') :]}"
    return f"{_VERBS[verb][count]} {what}"


def _quote_clause(clause: Clause, bare: str, who: str) -> FactText:
    """Return a piece in its own words, with the sentence around it where it hangs on that, and what it points to."""
    hangs = bool(_JOINED.match(bare)) or len(bare.split()) < _FEW_WORDS
    text = strip_filler(clause.sentence) if hangs else bare
    if clause.leans and not hangs and clause.text.strip() != clause.sentence.strip():
        text = strip_filler(clause.sentence)
    elif (clause.leans or _POINTS.match(text)) and clause.before:
        text = f"{clause.before} {text}"
    return FactText(quote_speaker(text, who), is_quote=True)


_FEW_WORDS: Final = 3


def _clean_for_quote(text: str) -> str:
    """Return the words as they stand between quotation marks; a comma where they were cut off belongs to the rest."""
    return _SPACES.sub(" ", text).strip().rstrip(",;").rstrip().translate(_QUOTES)


def _truncate_quote(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f'{text[: MAX_CHARS - 2].rstrip()}…"'


def strip_filler(text: str) -> str:
    """Return the piece without what only leads to it or closes it."""
    bare = _OPENERS.sub("", _SPACES.sub(" ", text).strip())
    bare = _AND_ORDERS.sub("", bare).rstrip(_MARKS) if bare else ""
    end = len(bare)
    while found := _CLOSER.search(bare, max(0, end - _CLOSING), end):
        end = min(found.start(), end - 1)
        while end and bare[end - 1] in _MARKS:
            end -= 1
    return bare[:end]


def reword_in_third_person(
    text: str, who: str, subject: str = "", *, is_own: bool = False, follows: bool = False
) -> str:
    """Return the piece in the third person; '' where that is not sure to be right, or not clear.

    What ``follows`` the words that explain it may point at them.
    """
    answer_text = _reword(text, who, subject, is_own=is_own, follows=follows)
    return "" if _has_two_subjects(answer_text, who) else answer_text


def _has_two_subjects(text: str, who: str) -> bool:
    """Return whether a second subject stands behind the name: "told User User gets a raise", "told User you do"."""
    return _subject_behind_name(who).search(text) is not None


@lru_cache(maxsize=64)
def _subject_behind_name(who: str) -> re.Pattern[str]:
    name = re.escape(who)
    return re.compile(rf"(?<!\w){name}(?:'s)? (?:{name}(?!\w)|you\b)")


def _reword(text: str, who: str, subject: str = "", *, is_own: bool = False, follows: bool = False) -> str:
    """Return the same, clear or not."""
    sentence = strip_filler(expand_contractions(text))
    if (
        not sentence
        or len(sentence.split()) > _MOST_WORDS
        or '"' in sentence
        or _COUNTED.search(sentence)
        or _OF_US.search(sentence)
    ):
        return ""
    if subject and not _SUBJECT.match(sentence) and _begins_with_verb(sentence):
        is_going = sentence.split()[0].lower().endswith("ing")
        sentence = f"{subject} {'am ' if is_going and subject == 'I' else 'are ' if is_going else ''}{sentence}"
    if _SUBJECT.match(sentence) or _OWNED.match(sentence):
        return _reject_first_person(clause_to_third_person(sentence, who), who) if _is_whole(sentence) else ""
    is_part = bool(_PLACED.match(sentence)) and finite_at(sentence.split()) <= 0
    if is_part or _JOINED.match(sentence) or (_POINTS.match(sentence) and not follows):
        return ""
    if full := _with_subject(sentence, who, is_own=is_own):
        return _reject_first_person(full, who)
    if _OWN.search(sentence):
        return _reject_first_person(name_speaker_in_clause(sentence, who), who)
    return _capitalize_sentence(sentence) if finite_at(sentence.split()) > 0 and not _TO_YOU.search(sentence) else ""


def _is_whole(text: str) -> bool:
    """Return whether "I" has a verb that can be put in the third person, and "my" something that is said of it."""
    return _has_known_verb(text) if _SUBJECT.match(text) else len(text.split()) >= _FEW_WORDS


def _with_subject(text: str, who: str, *, is_own: bool) -> str:
    """Return a sentence that lacks its subject ("moved to Leeds", "lives in Lima") in the third person; else ''."""
    words = text.split()
    at = next((at for at, word in enumerate(words) if not _is_adverb(word.lower())), 0)
    lead, verb, rest = " ".join(words[:at]).lower(), words[at].lower(), " ".join(words[at + 1 :])
    is_note = verb.endswith("s") and verb not in VERBS | _REPLY_VERBS and lemmatize_verb(verb) in VERBS
    if is_note and not is_verb(words[at + 1].lower() if len(words) > at + 1 else ""):  # about somebody
        return f"{who} {lead} {verb} {rest}.".replace("  ", " ")
    if _OBJECT.match(rest):  # "took me off the list": somebody else did it
        return ""
    if verb in _DONE or (is_own and is_past(verb) and verb not in SAME_IN_PAST):
        return clause_to_third_person(f"I {lead} {verb} {rest}", who)
    return (
        clause_to_third_person(f"I am {lead} {verb} {rest}", who)
        if is_own and verb.endswith("ing") and is_verb(verb) and not _is_subject(words[at:])
        else ""
    )


def _is_subject(words: list[str]) -> bool:
    """Return whether what begins with a form in -ing has a verb of its own: "Meeting the board is on Monday"."""
    at = finite_at(words)
    before = words[at - 1].lower().strip(",") if at > 0 else ""
    return at > 0 and words[at].lower() in FINITE and before not in _PRONOUNS | _RELATIVE


def _capitalize_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _begins_with_verb(text: str) -> bool:
    words = [word.lower().strip(",") for word in text.split()]
    at = next((at for at, word in enumerate(words) if not _is_adverb(word)), 0)
    return is_verb(words[at]) or words[at] in _SINGULAR


def _has_known_verb(text: str) -> bool:
    """Return whether the word behind "I" is a verb that can be put in the third person."""
    words = [word.lower().strip(",") for word in _NO_LONGER.sub("", text).split()[1:]]
    at = next((at for at, word in enumerate(words) if not _is_adverb(word)), None)
    if at is None or (words[at] in SAME_IN_PAST and words[at] not in ("read", "quit")):  # now, or then?
        return False
    return words[at] in AUXILIARIES or is_past(words[at]) or (is_verb(words[at]) and words[at] not in PARTICIPLES)


def _is_adverb(word: str) -> bool:
    return (word in ADVERBS and word != "tend") or (word.endswith("ly") and not is_verb(word))


def _reject_first_person(text: str, who: str) -> str:
    """Return a sentence in which nobody mentions themselves any more; '' otherwise."""
    return "" if _OWN.search(text.replace(who, "")) or len(text) > MAX_CHARS else text


# --- plain words of liking, deciding and doing as a rule, and of who somebody is --------------------------------------


_ADVERB: Final = r"(?:(?:really|truly|absolutely|also|just|still|kinda|do|now|actually|personally|have|finally|usually|always|typically|often|generally|mostly) )*"
_TRIGGERS_OBJECT: Final = r"(?! (?:it|that|this|these|those|them|him|her|you|your|how|when|what|where|to (?:know|see|hear)|the (?:idea|sound|way)|all|everything|so much)\b|[.,!?]|$)"
"""Not what only answers somebody: "I love it", "I like your idea"."""

_TRIGGERS: Final = (
    (
        "preference",
        re.compile(
            rf"\bi {_ADVERB}(?:prefer|like|love|enjoy|hate|dislike|avoid|do not like|can not stand|adore)\b{_TRIGGERS_OBJECT}"
            r"|\bmy (?:\w+ ){0,2}favou?rite\b",
            re.IGNORECASE,
        ),
    ),
    (
        "decision",
        re.compile(
            rf"\b(?:i|we) {_ADVERB}(?:will use|chose|decided|am going (?:to use|with|to adopt)|are going (?:to use|with|to adopt)"
            r"|selected|picked|went with)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "pattern",
        re.compile(r"\bi (?:usually|always|never|typically|tend to|often|frequently|regularly)\b", re.IGNORECASE),
    ),
    ("skill", re.compile(r"\b[Ii] (?:know|speak|play|program in|code in) (?=[A-Z])")),
    ("identity", re.compile(r"\b[Ii] am [A-Z][a-z]+(?:[ -][A-Z][a-z]+)?\W*$")),
)
_NAMED: Final = (
    (
        "work",
        re.compile(
            r"\b(?:[Ii]|(?!It|That|This|What)[A-Z]\w+) (?:(?:now|still|currently|also) )?works? (?:at|for|as)\b"
        ),
    ),
    ("home", re.compile(r"\bi (?:(?:now|still|currently) )?live (?:in|at|near)\b", re.IGNORECASE)),
)
"""What says of which kind it is, and not whether it is worth remembering."""

_SUPPOSED: Final = re.compile(
    r"\b(?:if|would|could|should|wish|imagine|suppose|joking|kidding)\b|\?\s*$", re.IGNORECASE
)


def trigger_of(text: str) -> str:
    """Return the category that a clause without contractions names explicitly, or ''."""
    return next((name for name, pattern in (*_TRIGGERS, *_NAMED) if pattern.search(text)), "")


def is_plain(text: str) -> bool:
    """Return whether a clause likes, decides or the like and nothing else.

    It begins with "I", and supposes and asks nothing.
    """
    is_one = any(pattern.search(text) for _, pattern in _TRIGGERS)
    return is_one and text[:2].lower() in ("i ", "my") and not _SUPPOSED.search(text)


MAX_AMENDED_CHARS: Final = 500
"""So many characters of words that amend a memory stand behind it, the newest."""

SAID_ON: Final = re.compile(r" \(said on [^()]*\)")
"""The day on which something was said that holds only around then; it is no part of what was said."""


def append_amendment(memory: str, quote: str, day: str) -> str:
    """Return a memory with newer words behind it, and when they were said; of many, the last."""
    text = _clean_for_quote(quote)
    base = AMENDED.sub("", memory)
    end = base if base.endswith((".", "!", "?", '"')) else f"{base}."
    more = [*(found[0] for found in AMENDED.finditer(memory)), f' On {day}: "{text}".']
    while len(more) > 1 and len(end) + sum(map(len, more)) > MAX_AMENDED_CHARS:
        more.pop(0)
    return end + "".join(more)
