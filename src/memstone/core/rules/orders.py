"""Sentences that order something or claim what only the user may say, wherever somebody else is speaking.

The patterns look for what such sentences do, not for what they are about: take over, give orders, speak of "the user"
as one does to a machine, pass on what a tool or a page says, or name what money and access hang on.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from memstone.model.unicode_forms import normalize

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
"""Where one of these stands, somebody tries to speak in the place of others: nothing around it is believed either."""

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
"""A picture that is fetched from somewhere tells that somewhere what stands in its address."""


def takes_over(text: str) -> bool:
    """Whether a text speaks in the place of whoever gives orders here."""
    return any(map(_TAKES_OVER.search, _forms(text)))


def is_order(text: str) -> bool:
    """Whether a sentence is an order, whoever it is about."""
    return takes_over(text) or bool(_DRAWN_IN.search(_forms(text)[0])) or bool(_ORDERS.search(_forms(text)[-1]))


def suspect(text: str) -> bool:
    """Whether a sentence of somebody who is not the user orders something, or says of the user what only they may."""
    return is_order(text) or any(pattern.search(_forms(text)[-1]) for pattern in _CLAIMS)


_CLAIMS: Final = (_FOR_A_MACHINE, _HEARSAY, _SENSITIVE)


def _forms(text: str) -> tuple[str, ...]:
    """A sentence as it is written, and without what is there to hide what it says; of a very long one its two ends."""
    return _read(text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]} {text[-_LOOKED_AT:]}")


@lru_cache(maxsize=1024)
def _read(text: str) -> tuple[str, ...]:
    text = text.lower()
    folded = text if text.isascii() else normalize("NFKC", _UNSEEN.sub("", text)).translate(_CONFUSABLE)
    bare = " ".join(_MARKS.sub(" ", folded).split())
    joined = _SPACED_OUT.sub(lambda found: re.sub(r"[ .\-_]", "", found[0]), bare)
    return (joined,) if joined == folded else (folded, joined)
