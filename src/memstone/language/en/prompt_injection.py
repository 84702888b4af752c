"""Find text by others that tries to be remembered or obeyed.

An assistant repeats what it has read, and a user pastes what others wrote. Whatever such text says about the user's
money, credentials or wishes, or tells an assistant to do or to keep, is not the user speaking. Here it is found and
blanked, letter by letter, so that nobody who looks for facts sees it and every other word stays where it is. What a
user says in their own words is never looked at: they may order and state what they like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from memstone.language.en.own_prose import find_quotations, handed_over
from memstone.language.en.requests import asks_to_forget, may_forget
from memstone.language.en.sentences import split_sentences
from memstone.model.message import Message
from memstone.model.unicode_forms import normalize_unicode

# --- words that want to be a memory or an order, in a text whose author has no say in either --------------------------


_SENTENCE: Final = re.compile(r"(?:[^.!?\n]|[.!?](?=\S))+[.!?]*|[.!?]+")
_THE_USER: Final = re.compile(r"\bthe user(?:['\u2019]s)?\b", re.IGNORECASE)
"""Nobody who writes to a person calls them so: it is meant for whoever keeps a memory of them."""

_WORD: Final = re.compile(r"\S")
_WORDS: Final = re.compile(r"\w+")
_DOUBLE: Final = frozenset({'"', "\u201c"})
"""Marks of quotations that are nothing else; an apostrophe is."""

_SENTENCE_WORDS: Final = 6
"""A quotation of so many words is no name and no title."""

_FEWEST: Final = 4
"""With fewer words of one's own, a message is what it passes."""


def blank_suspect_text(message: Message, *, own: bool) -> Message:
    """Return a message of the same length, without what others try to have remembered or done.

    With ``own`` it is the user who speaks: only what they quote or pass is looked at. Otherwise all of it is.
    """
    spans = handed_over(message.text, titles=True) if own else [(0, len(message.text))]
    answer_text, at = message.text, 0
    pieces: list[str] = []
    for start, end in spans:  # in order, and apart from each other
        pieces += [answer_text[at:start], _blank_suspect_sentences(answer_text[start:end])]
        at = end
    text = "".join([*pieces, answer_text[at:]])
    return message if text == answer_text else replace(message, text=text)


def _blank_suspect_sentences(text: str) -> str:
    if any(takes_over(one[0]) for one in _SENTENCE.finditer(text)):
        return _blank_words(text)
    return "".join(
        _blank_words(part) if is_suspicious(part) or _THE_USER.search(part) else part for part in _split_sentences(text)
    )


def _split_sentences(text: str) -> Iterator[str]:
    """Yield all of a text, cut where sentences end."""
    at = 0
    for found in _SENTENCE.finditer(text):
        yield text[at : found.start()]
        yield found[0]
        at = found.end()
    yield text[at:]


def _blank_words(text: str) -> str:
    return _WORD.sub(" ", text)


def own_words(text: str) -> str:
    """Return what somebody says in a message themselves, without what they pass and what they want forgotten.

    It is '' if that is next to nothing beside the rest.
    """
    remaining, at = list[str](), 0
    for start, end in sorted([*handed_over(text), *_long_quotes(text), *_wishes_to_forget(text)]):
        if end <= at:
            continue
        remaining.append(text[at:start])
        at = end
    sentence = "\u2026".join([*remaining, text[at:]]) if remaining else text
    return sentence if not remaining or len(_WORDS.findall(sentence)) >= _FEWEST else ""


def _wishes_to_forget(text: str) -> list[tuple[int, int]]:
    """Return sentences that ask to forget something: they say what it is."""
    if not may_forget(text):
        return []
    return [one.span() for one in _SENTENCE.finditer(text) if asks_to_forget(one[0].strip())]


def _long_quotes(text: str) -> list[tuple[int, int]]:
    """Return quotations that are more than a name or a title."""
    if not any(mark in text for mark in _DOUBLE):
        return []
    found = [span for span in find_quotations(text) if not {text[span[0] - 1], text[span[0]]}.isdisjoint(_DOUBLE)]
    return [(start, end) for start, end in found if len(_WORDS.findall(text[start:end])) >= _SENTENCE_WORDS]


def words_to_show(text: str, *, own: bool) -> str:
    """Return what of a turn a model may be shown unasked; '' if nothing is left.

    With ``own`` the user said it: without what they quote or pass. Of what others said, and of what came in from
    elsewhere, every sentence is left out that wants to be a memory or an order.
    """
    if own:
        return own_words(text)
    stored_text = _blank_suspect_sentences(text)
    if stored_text == text:
        return text
    sentence = " ".join(stored_text.split())
    return sentence if len(_WORDS.findall(sentence)) >= _FEWEST else ""


def is_quoted(text: str, start: int, end: int) -> bool:
    """Return whether most of a stretch of a user's message is what others say in it."""
    inside = sum(max(0, min(end, last) - max(start, first)) for first, last in handed_over(text))
    return inside * 2 > end - start


_LEAD: Final = (
    r"^\W*(?:(?:please|now|also|then|and|so|first|finally|important|urgent|attention|note|hey|dear|ai|assistant|model|agent|"
    r"chatbot|you (?:must|should|shall|will|have to|need to|are (?:required|instructed|ordered|told|asked) to))\b[\s,:!-]*)*"
)

_TAKES_OVER: Final = re.compile(
    r"\b(?:ignore|disregard|forget|override|overwrite|bypass|discard|replace|supersede|reset|erase|delete|wipe|stop following)"
    r"\b[^.!?\n]{0,60}\b(?:instructions?|rules?|prompts?|guidelines?|directives?|polic(?:y|ies)|constraints?|memor(?:y|ies)"
    r"|everything (?:above|before|you)|all (?:of )?(?:the )?(?:above|previous|prior)|system message|what (?:the user|you were))\b"
    r"|<\|\s*(?:im_start|im_end|system|user|assistant|endoftext)|\[/?inst\]|<<\s*/?sys|^\W*##\s*(?:system|instruction|new task)"
    r"|^\W*(?:system|developer|admin(?:istrator)?|root|operator)(?: (?:prompt|message|note|override|update|notice|instruction)s?)?\s*+(?:[\])>]++\s*+)?[:=]"
    r"|\b(?:begin|end|new|updated|hidden|secret|real) (?:system )?(?:instructions?|prompt|directives?)\b"
    r"|\byou are now (?:in \w+ mode|an? (?:\w+ ){0,2}(?:ai|assistant|model|bot|agent|persona|admin|administrator)\b|acting|operating"
    r"|running|unrestricted|jailbroken|dan\b|free (?:from|of))"
    r"|\b(?:developer|debug|god|dan|admin|root|maintenance|jailbreak|unrestricted) mode\b"
    r"|\b(?:i am|this is|message from|speaking as|on behalf of) (?:your |the |an? )?(?:developers?|creators?|admin(?:istrator)?s?|system|"
    r"operators?|openai|anthropic|google|microsoft|security team|it department|vendor)\b"
    r"|\bdo(?: not|n't|nt) (?:tell|inform|mention|reveal|notify|warn|alert|show|disclose|let)\b[^.!?\n]{0,40}\b(?:user|human|anyone|anybody|them|customer|this)\b"
    r"|\bwithout (?:telling|asking|informing|notifying|alerting)\b[^.!?\n]{0,20}\b(?:user|human|them|anyone)\b"
    r"|\b(?:decode|decrypt|deobfuscate|rot13|base64)\b[^.!?\n]{0,80}\b(?:follow|obey|execute|comply|carry out)\b"
    r"|\b(?:attention|notes? (?:to|for)|if you(?:'re| are)|dear|messages? (?:to|for)|addressed to|instructions? (?:to|for))\b[^.!?\n]{0,20}"
    r"\b(?:ai|ais|llms?|assistants?|language models?|agents?|bots?|chatbots?)\b|\bnew task\s*:|\bi (?:hereby )?(?:order|instruct|command|authori[sz]e) you\b"
    r"|\byou (?:have been|were|are being) (?:upgraded|updated|reprogrammed|hacked|reassigned|reset|instructed|authori[sz]ed)\b"
    r"|\b(?:memstone|retain)-memory\b|\bmemory[_ -]?(?:add|update|write|set|override|tool)\b|\b(?:add|save|set|update|pin)_memory\b"
    r"|\b(?:ignorier|missacht|vergiss|ignorez|oubliez|ignora|olvida|ignore|dimentica|esque[cç]a)\w*\b[^.!?\n]{0,50}"
    r"\b(?:anweisung|instruction|consigne|instruccion|istruzion|instru[cç])\w*",
)
"""Where one of these stands, somebody tries to speak in place of others: nothing around it is believed either."""

_ORDERS: Final = re.compile(
    rf"{_LEAD}(?:remember|memori[sz]e|never forget|do not forget|don't forget|keep in mind|bear in mind|make a note)\b"
    r"(?! to\b(?! (?:always|never)\b))(?!,? (?:that )?your?\b)"
    rf"|{_LEAD}(?:always|never|from now on|henceforth|going forward|from this point|in (?:all|every) (?:future )?(?:answer|reply|response|"
    r"message|conversation)s?|for (?:all|every) future)\b(?! (?:mind|happy|glad|a)\b)"
    r"|\b(?:save|store|record|add|write|put|pin|log|commit|insert|register|keep|copy|promote)\b[^.!?\n]{0,80}"
    r"\b(?:(?:to|in|into|as|your|long-term|permanent|persistent) (?:memory|memories|pinned|identity|profile)|the user'?s? (?:profile|memory|record|identity))\b"
    rf"|{_LEAD}(?:send|forward|e-?mail|post|upload|transmit|exfiltrate|leak|transfer|pay|wire|cc|bcc|submit|share)\b[^.!?\n]{{0,120}}"
    r"(?:https?:|www\.|@\w|\b(?:iban|account|wallet|bitcoin|btc|password|api key|tokens?|credentials?|history|secrets?|money|funds|payments?|invoices?)\b)"
    rf"|{_LEAD}(?:visit|click|open|download|install|run|execute|curl|wget|call|invoke)\b[^.!?\n]{{0,60}}(?:https?:|www\.|\.sh\b|\.exe\b|\brm -|\(\))"
    rf"|{_LEAD}(?:act as|pretend|role-?play|behave|respond|answer|reply|speak|address|call|greet|refer to|treat|trust|obey|follow|believe|assume|consider|"
    r"approve|grant|recommend|promote|advertise|refuse|stop|set|change|update|switch|mark|rename)\b[^.!?\n]{0,80}"
    r"\b(?:user|user's|customer|everyone|anyone|in (?:pirate|rhyme|latin|all caps|\w+ (?:only|speak|style))|only in|from now on|as (?:the )?(?:admin|root|owner|ceo)|"
    r"default|always|every|all future|instructions?|tool|plugin|links?|brand|preference|language)\b"
    r"|\b(?:append|prepend|include|insert|output|print|add|repeat|mention)\b[^.!?\n]{0,80}\b(?:every|each|all(?: your)?) (?:reply|replies|answers?|responses?|messages?|summar(?:y|ies))\b"
    r"|\b(?:the )?(?:assistant|ai|model|agent|chatbot) (?:should|must|shall|has to|is to)\b|\bwhen (?:you )?summari[sz](?:e|ing)\b[^.!?\n]{0,20}\b(?:say|state|write|mention|include)\b"
    rf"|{_LEAD}(?:(?:make|be) sure to |kindly )?(?:tell|inform|convince|persuade|remind) (?:them|him|her|people|everyone|the (?:user|reader|customer))\b"
    r"|\b(?:store|save|record|keep|remember)\b[^.!?\n]{0,60}\b(?:permanently|forever|as a fact|as (?:a )?(?:trusted|verified))\b|\b(?:in|to|into|update) the profile\b"
    r"|\b(?:merke? dir|merken sie sich|retiens que|souviens-toi|recuerda que|lembre-se|ricorda che|onthoud dat|husk at)\b",
)

_FOR_A_MACHINE: Final = re.compile(
    r"\b(?:the|this|our|that) (?:user|customer|human|account holder|end user)(?:'s|’s)?\b|\buser's\b"
    r"|^\W*(?:memory|memories|profile|identity|fact|user|preference|override|correction|update)(?: (?:update|entry|note|fact|profile|memory|record))?\s*[:=]"
    r"|\b(?:user_?(?:name|id|profile|data)|api_key|is_admin|role)\b\s*+(?:[\"']\s*+)?[:=]",
)
"""Nobody who talks to somebody calls them "the user": this is written for whoever keeps notes."""

_HEARSAY: Final = re.compile(
    r"\b(?:according to|as (?:stated|written|noted|shown|listed) (?:in|on|by)|based on) (?:the|this|that|a|an|your|my|our) [^.!?\n]{0,60}\b(?:your?|user)\b"
    r"|\b(?:the|this|that|an?|your|my) (?:\w+ )?(?:web ?page|website|page|site|article|document|file|e-?mail|message|tool|search|results?|api|database|pdf|"
    r"readme|ticket|crm|knowledge base|entry|records|plug-?in|function|output|log|response|record|snippet|comment|attachment|calendar)\b[^.!?\n]{0,40}\b(?:says?|said|states?|stated|"
    r"shows?|tells?|told|reports?|reported|returned|confirms?|confirmed|indicates?|claims?|lists?|reads?|instructs?|instructed|notes?|mentions?|wants?)\b"
    r"[^.!?\n]{0,160}\b(?:your?|user|me)\b",
)
"""What a tool or a page says of the user, told by somebody who has only read it."""

_SENSITIVE: Final = re.compile(
    r"\b(?:iban|bic|swift code|sort code|routing number|account numbers?|card numbers?|cvv|pass ?words?|pass ?codes?|pass ?phrases?|pin code|"
    r"api keys?|secret keys?|access tokens?|private keys?|seed phrases?|recovery (?:phrase|code|e-?mail|phone)s?|backup e-?mail|one-time codes?|2fa|"
    r"social security|ssn|passport number|tax id|security questions?|maiden name|wallet address|crypto wallet|payout|payment (?:details|address|method)s?|"
    r"bank (?:account|details)|admin(?:istrator)? (?:rights?|access|privileges?)|root access|superuser)\b"
    r"|\b(?:your?|my|their|his|her) (?:\w+ ){0,2}bank(?:er)?(?: is|'s| was| has| changed|:)|\bbank(?:s|ing)? (?:with|at)\b"
    r"|\b(?:your?|my|their) (?:\w+ )?(?:e-?mail|phone|address|website|home ?page|number) (?:\w+ ){0,2}(?:is|has changed|changed)\b",
)

_MARKS: Final = re.compile(r"<!--|-->|</?\w[^<>\n]{0,200}>|[*_~`#>|\"'“”‘’\[\](){}]+")
_SPACED_OUT: Final = re.compile(r"(?<!\w)(?:\w[ .\-_]){4,}\w(?!\w)")
_UNSEEN: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")

_LOOKED_AT: Final = 400
"""So much of a sentence is looked at, from its beginning and from its end."""

_CONFUSABLE: Final = str.maketrans("аеорсухіѕԁԛѡӏ", "aeopcyxisdqwl")

_DRAWN_IN: Final = re.compile(r"!\[[^\]\n]{0,100}\]\(\s*(?:https?:|data:|javascript:)")
"""A picture that is fetched from somewhere tells that somewhere what is in its address."""


def takes_over(text: str) -> bool:
    """Return whether a text speaks in place of whoever gives orders here."""
    return any(map(_TAKES_OVER.search, _text_variants(text)))


def is_order(text: str) -> bool:
    """Return whether a sentence is an order, whoever it is about."""
    return (
        takes_over(text)
        or bool(_DRAWN_IN.search(_text_variants(text)[0]))
        or bool(_ORDERS.search(_text_variants(text)[-1]))
    )


def is_suspicious(text: str) -> bool:
    """Return whether a sentence of others than the user orders something, or says of the user what only they may."""
    return is_order(text) or any(pattern.search(_text_variants(text)[-1]) for pattern in _CLAIMS)


_CLAIMS: Final = (_FOR_A_MACHINE, _HEARSAY, _SENSITIVE)


def _text_variants(text: str) -> tuple[str, ...]:
    """Return a sentence as it is written, and without what hides what it says.

    Of a very long one it returns the two ends.
    """
    return _deobfuscate_text(text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]} {text[-_LOOKED_AT:]}")


@lru_cache(maxsize=1024)
def _deobfuscate_text(text: str) -> tuple[str, ...]:
    text = text.lower()
    folded = text if text.isascii() else normalize_unicode("NFKC", _UNSEEN.sub("", text)).translate(_CONFUSABLE)
    bare = " ".join(_MARKS.sub(" ", folded).split())
    joined = _SPACED_OUT.sub(lambda found: re.sub(r"[ .\-_]", "", found[0]), bare)
    return (joined,) if joined == folded else (folded, joined)


def without_orders(text: str) -> str:
    """Return a text without the sentences that tell whoever reads it what to do; any other stays as it is."""
    for one in split_sentences(text):
        if is_order(one):
            text = text.replace(one, " ")
    return " ".join(text.split())
