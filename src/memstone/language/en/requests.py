"""What people ask their assistant to keep in mind: names, manners, facts to remember or to forget, procedures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memstone.language.en.sentences import expand_contractions
from memstone.language.en.verbs import clause_to_third_person, name_speaker_in_clause, third_person
from memstone.model.memory import Kind
from memstone.model.unicode_forms import normalize_unicode

# --- what people ask their assistant to keep in mind ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked, as a sentence about the one who asks."""

    text: str
    category: str
    kind: str = Kind.FACTUAL
    forget: bool = False


_PLEASE: Final = r"^(?:please |pls |kindly |hey,? |can you |could you |would you |i want you to |i would like you to |i need you to |from now on,? |going forward,? |(?:in|for) (?:the |all )?future(?: chats| conversations| answers| replies| messages)?[,:]? |just |always |do )*"
_CALLED: Final = re.compile(
    rf"{_PLEASE}(?:keep )?(?:call(?:ing)? me|address(?:ing)? me as|refer(?:ring)? to me as|use the name) [\"']?((?-i:(?:(?:Dr|Mr|Ms|Mrs|Prof)\.? )?[A-Za-z][\w'-]*(?: [A-Z][\w'-]+)?))[\"']?(?:,? (?:please|from now on|instead|thanks|going forward|ok))*$",
    re.IGNORECASE,
)
_REMEMBER: Final = re.compile(
    r"^(?:please |pls |can you |could you )*(?:remember|keep in mind|note|do not forget(?=:? (?:that|my|i|the)\b)|never forget(?= (?:that|my|i)\b)|make a note|take note|bear in mind|for (?:your|the) (?:information|record))(?: down)?(?: that|:|,|;)? (?!to (?:tell|ask|call|buy|send|do|check)\b)(.+)$",
    re.IGNORECASE,
)
_REMIND: Final = re.compile(rf"{_PLEASE}remind me ((?:\S+ ){{0,6}}?to (?!do\b$)\w.+)$", re.IGNORECASE)
_WORTH_KEEPING: Final = re.compile(
    r"^(?:i|we|my|our|the|a|an|user|there (?:is|are)|(?:\S+ ){1,4}(?:is|are|has|have|will be|was|starts|ends) )",
    re.IGNORECASE,
)
_ADVICE: Final = re.compile(
    r"^\w+ing\b[\w' ,-]* (?:is|are|can be|takes|helps|makes|brings) (?:\w+ly |so |very |super )*(?:important|key|everything|crucial|essential|vital|good|great|worth|hard|okay|ok)\b(?!.*\b(?:me|my|i|us|our)\b)",
    re.IGNORECASE,
)
"""Such as "Remember, staying positive is important": said to cheer somebody up."""

_ASKED: Final = r"^(?:(?:please|pls|kindly|hey|ok|okay|so|and|now|also|just|actually|then)[, ]+|(?:can|could|would|will) you |you (?:can|may|could|should|must|have to|need to) |(?:i|we) (?:want|need|would like) you to |feel free to |i (?:would )?ask you to )*"
_FORGETS: Final = r"(?:forget|unlearn|do not (?:remember|memori[sz]e)|stop remembering|no longer remember|disregard)"
_MAY_FORGET: Final = re.compile(
    r"\b(?:forget|unlearn|disregard|memori[sz]e|remember(?:ing)?|delete|erase|remove|drop|wipe|clear|scrub)\b",
    re.IGNORECASE,
)
_DELETES: Final = r"(?:delete|erase|remove|drop|wipe|clear|scrub)"
_MEMORY: Final = r"(?: (?:from|in|out of) (?:your|the) (?:memory|memories|notes|records?|database|head|mind)| from what you (?:know|remember)(?: about me)?)"
_FORGET: Final = (
    # what was told, in a clause: "forget that I like jazz", "delete the fact that I live in Oslo", "forget I like jazz"
    re.compile(
        rf"{_ASKED}(?:{_FORGETS}|{_DELETES})(?:,? (?:that|about|what (?:i|we) (?:just )?(?:said|told you|mentioned) about|the fact that|(?:everything|anything|all)(?: (?:that )?(?:i|we) (?:said|told you)| you know)? about))+,? (?P<what>(?!me$).+)$",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_ASKED}{_FORGETS} (?P<what>(?:i|we|(?:my|our) [\w' -]+? (?:is|are|was|were|has|have)) .+)$", re.IGNORECASE
    ),
    # something of the speaker's: "forget my address"
    re.compile(rf"{_ASKED}{_FORGETS} (?P<what>(?:my|our) [\w'-]+(?: [\w'-]+){{0,3}})$", re.IGNORECASE),
)
"""What is asked to be forgotten, by the verb and its object."""

_DELETE: Final = re.compile(
    rf"{_ASKED}{_DELETES} (?P<what>(?:my|our) [\w'-]+(?: [\w'-]+){{0,3}}?)(?={_MEMORY})", re.IGNORECASE
)
"""Many things can be deleted, so here the memory has to be named."""

_FORGET_END: Final = re.compile(
    rf"(?:{_MEMORY}|,? (?:now|please|again|any ?more|for good|forever|right away|thanks|ok)){{1,6}}$", re.IGNORECASE
)
_OF_THE_TALK: Final = re.compile(
    r"^(?:it|that|this|them|those|these|him|her|you|your\b.*|the (?:last|previous|above|first|other)\b.*"
    r"|(?:my|our) (?:\w+ )?(?:messages?|questions?|requests?|prompts?|instructions?|answers?|point|comments?|words|mistake|typos?|ideas?|suggestions?|drafts?|code))$",
    re.IGNORECASE,
)
"""What belongs to the talk itself, and is no memory."""

_EVERYTHING: Final = re.compile(
    rf"{_ASKED}(?:{_FORGETS}|{_DELETES}) (?:(?:absolutely )?(?:everything|all|anything)(?: of (?:it|that|this|them))?(?: (?:that )?(?:you (?:know|have|remember|stored|saved|learned)|(?:i|we) (?:have )?(?:ever )?(?:told|said|shared)(?: to)?(?: you)?))?(?: (?:about|on|of) me)?|(?:all|everything in) (?:of )?(?:my|your) (?:memory|memories|data|facts|information|details)(?: (?:about|on|of) me)?|(?:all about )?me)(?:{_MEMORY})?[.! ]*$",
    re.IGNORECASE,
)


def forgets_everything(said: str) -> bool:
    """Whether a plain sentence asks to forget all there is, and not something of it."""
    return bool(_EVERYTHING.match(_FORGET_END.sub("", said.rstrip(" .!?"))))


_STANDING: Final = re.compile(
    r"^(?:please |pls |from now on,? |going forward,? |in (?:the )?future,? )*(?P<how>always|never|do not ever|from now on,?|by default,?|going forward,?)(?: please)? (?P<what>(?:answer|reply|respond|use|write|speak|talk|give (?:me|an?|the)|keep (?:your|it|the|answers|replies|things)|be (?:more |less |very )?(?:brief|concise|formal|informal|direct|polite|casual|blunt|honest|critical|short|specific)|show|include|avoid|start|end|explain|add|format|address|quote|cite|ask|send|assume|put|mention|round|spell|sign|suggest|recommend|offer|call me|tell me)\b.*)$",
    re.IGNORECASE,
)
_MANNER: Final = re.compile(
    r"^(?:please |pls |can you |could you |i want you to |i would like you to )*(?P<what>(?:do not (?:use|add|include|write|send|call me|give me|be (?:so|too|verbose|formal|polite))|stop (?:using|adding|giving me|calling me|being (?:so|too)|apologi[sz]ing|saying)|(?:answer|reply|respond|write|speak|talk)(?: to me)? (?:only |always )?in \w+|use (?:metric|imperial|celsius|fahrenheit|british|american|24|12|bullet|plain|simple|short|formal|informal|he|she|they)\b|keep (?:your |the )?(?:answers|replies|responses|it|things|messages) (?:short|brief|concise|simple|formal|casual|under|to)|be (?:more |less |very )?(?:brief|concise|formal|informal|direct|polite|casual|blunt|honest|critical|strict|gentle|friendly|short|specific)|go back to (?:writing|answering|replying|speaking|using))\b.*?)(?: please| from now on| going forward| when you answer| with me| in your (?:answers|replies)){0,4}$",
    re.IGNORECASE,
)
_ALLOWED: Final = re.compile(
    r"^(?:from now on,? |ok,? |okay,? |actually,? )*you (?:can|may) (?:now )?(?P<what>(?:use|add|include|write|explain|give me|show|call me|answer|reply|respond|be|send|suggest|mention|quote|ask)\b.*?) (?:again|now|too|after all|from now on|any ?time)$",
    re.IGNORECASE,
)
"""What was not wanted before."""

_WHENEVER: Final = re.compile(
    r"^(?:please |pls |from now on,? )*(?P<when>(?:whenever|when|every time|each time|if) (?:you|i) [^,]{3,80}), (?:please |then |always )*(?P<what>(?:do not |never )?(?:answer|reply|respond|use|write|speak|talk|give|keep|be|show|include|avoid|start|end|explain|add|format|address|quote|cite|ask|send|assume|put|mention|round|spell|sign|suggest|check|tell|remind|make sure)\b.*)$",
    re.IGNORECASE,
)
_RECIPE: Final = re.compile(
    r"^(?:(?:the way|how) (?:we|i) (?P<goal>[^:,]{3,60})|(?:the )?steps (?:to|for) (?P<aim>[^:,]{3,60})): (?P<how>.+)$",
    re.IGNORECASE,
)
_OURS: Final = re.compile(r"\b(?:we|our|my|i|us)\b", re.IGNORECASE)
_PROCEDURE: Final = re.compile(
    r"^(?:to|in order to) (?P<goal>[\w -]{3,60}?)(?:,| (?=(?:you|we|i|first|just)\b)) ?(?P<how>(?:you (?:(?:have to|need to|must|should) )?|we (?:have to |need to )?|i (?:have to |need to )?|first |just )?(?:run|use|call|execute|open|press|click|type|go|start|build|push|tag|merge|deploy|set|copy|install|restart|send|ask|log|create|fill|turn|hold|enter|edit|export|make|lift|pick|get|pull|push|bump|branch|take|ping|file)\b.+)$",
    re.IGNORECASE,
)
_PROCESS: Final = re.compile(
    r"^(?P<which>(?:our|my|the) (?:\w+ ){0,3}(?:process|workflow|procedure|routine|recipe|policy|convention|rule|checklist|steps?)(?: for [\w -]+?)?) (?:is|are|goes|works|has)(?: (?:like this|as follows|to))?[:,]? (?P<how>.+)$",
    re.IGNORECASE,
)


def request_of(said: str, who: str) -> Request | None:
    """The request a plain sentence makes, or None."""
    for make in (
        _match_name_request,
        _match_forget_request,
        _match_remember_request,
        _match_reminder,
        _match_permission,
        _match_standing_instruction,
        _match_conditional_order,
        _match_manner_request,
        _match_procedure,
    ):
        request = make(said, who)
        if request is not None:
            return request
    return None


def _match_name_request(said: str, who: str) -> Request | None:
    found = _CALLED.match(said)
    return Request(f"{who} wants to be called {found[1]}.", "identity") if found else None


def _match_forget_request(said: str, who: str) -> Request | None:
    if forgets_everything(said):
        return None
    said = said.rstrip(" .!?")
    bare = _FORGET_END.sub("", said)
    found = next((match for pattern in _FORGET if (match := pattern.match(bare))), None) or _DELETE.match(said)
    if not found or _OF_THE_TALK.match(found["what"]):
        return None
    return Request(_as_fact(found["what"], who), "instruction", forget=True)


def _match_remember_request(said: str, who: str) -> Request | None:
    found = _REMEMBER.match(said)
    if not found or not _WORTH_KEEPING.match(found[1]) or len(found[1].split()) < 3 or _ADVICE.match(found[1]):
        return None
    return Request(_as_fact(found[1], who), "instruction")


def _match_reminder(said: str, who: str) -> Request | None:
    found = _REMIND.match(said)
    return Request(_as_fact(f"I want to be reminded {found[1].rstrip(' ?')}", who), "plan") if found else None


def _match_permission(said: str, who: str) -> Request | None:
    found = _ALLOWED.match(said)
    return (
        Request(f"{who} wants the assistant to {_reword_order(found['what'])}.", "instruction", Kind.PROCEDURAL)
        if found
        else None
    )


def _match_standing_instruction(said: str, who: str) -> Request | None:
    found = _STANDING.match(said)
    if not found:
        return None
    how = "never" if found["how"].lower().startswith(("never", "do not")) else "always"
    return Request(
        f"{who} wants the assistant to {how} {_reword_order(found['what'])}.", "instruction", Kind.PROCEDURAL
    )


def _match_conditional_order(said: str, who: str) -> Request | None:
    found = _WHENEVER.match(said)
    if not found:
        return None
    when = _reword_order(found["when"])
    what = re.sub(r"^do not ", "not ", found["what"], flags=re.IGNORECASE)
    return Request(
        f"{who} wants the assistant {_not_to(_reword_order(what)) if what.startswith('not ') else 'to ' + _reword_order(what)} {when}.",
        "instruction",
        Kind.PROCEDURAL,
    )


def _match_manner_request(said: str, who: str) -> Request | None:
    found = _MANNER.match(said)
    if not found:
        return None
    what = re.sub(r"^do not ", "not ", found["what"], flags=re.IGNORECASE)
    return Request(
        f"{who} wants the assistant {'' if what.startswith('not ') else 'to '}{_not_to(_reword_order(what))}.",
        "instruction",
        Kind.PROCEDURAL,
    )


def _match_procedure(said: str, who: str) -> Request | None:
    found = _PROCEDURE.match(said)
    if found:
        return Request(
            name_speaker_in_clause(f"To {found['goal']}, {found['how']}", who), "procedural", Kind.PROCEDURAL
        )
    found = _RECIPE.match(said)
    if found and _OURS.search(said):
        return Request(_format_recipe(said, found, who), "procedural", Kind.PROCEDURAL)
    found = _PROCESS.match(said)
    if found and len(found["how"].split()) >= 3:
        return Request(name_speaker_in_clause(f"{found['which']}: {found['how']}", who), "procedural", Kind.PROCEDURAL)
    return None


def _format_recipe(said: str, found: re.Match[str], who: str) -> str:
    return (
        name_speaker_in_clause(f"How {who} {_goal_in_third_person(found['goal'])}: {found['how']}", who)
        if found["goal"]
        else name_speaker_in_clause(said, who)
    )


def _goal_in_third_person(goal: str) -> str:
    """Such as "make my bread", said of somebody else."""
    return clause_to_third_person(f"I {goal}", "").strip().rstrip(".")


def _not_to(what: str) -> str:
    return f"not to {what[4:]}" if what.startswith("not ") else what


_YOU_DO: Final = re.compile(r"\byou (?:(always|never|also) )?([a-z]+)\b", re.IGNORECASE)
_ABOUT: Final[tuple[tuple[str, str], ...]] = (
    (r"\bi am\b", "they are"),
    (r"\bi\b", "they"),
    (r"\bme\b", "them"),
    (r"\bmy\b", "their"),
    (r"\byour\b", "its"),
    (r"\byou\b", "it"),
)


def _reword_order(what: str) -> str:
    """An order, told about the one who gives it."""
    what = _YOU_DO.sub(lambda m: f"it {m[1] + ' ' if m[1] else ''}{third_person(m[2].lower())}", what)
    for pattern, replacement in _ABOUT:
        what = re.sub(pattern, replacement, what, flags=re.IGNORECASE)
    return _THANKS.sub("", what.rstrip(" .!"))


_THANKS: Final = re.compile(r"(?:,? (?:please|pls|thanks|thank you|ok|okay)){1,6}$", re.IGNORECASE)


def _as_fact(what: str, who: str) -> str:
    what = what.strip().rstrip(".!")
    return (
        clause_to_third_person(what, who)
        if re.match(r"^(?:i|we|my|our)\b", what, re.IGNORECASE)
        else name_speaker_in_clause(what, who)
    )


def asks_to_forget(sentence: str) -> bool:
    """Tell whether a sentence asks to forget something, or all there is."""
    if not may_forget(sentence):
        return False
    said = expand_contractions(sentence)
    return _match_forget_request(said, "User") is not None or forgets_everything(said)


def may_forget(text: str) -> bool:
    """Tell whether a message has a word by which somebody asks to forget something; most have none."""
    return _MAY_FORGET.search(text) is not None


# --- sentences that order something or claim what only the user may say, wherever somebody else is --------------------


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
    return any(map(_TAKES_OVER.search, _text_variants(text)))


def is_order(text: str) -> bool:
    """Whether a sentence is an order, whoever it is about."""
    return (
        takes_over(text)
        or bool(_DRAWN_IN.search(_text_variants(text)[0]))
        or bool(_ORDERS.search(_text_variants(text)[-1]))
    )


def is_suspicious(text: str) -> bool:
    """Whether a sentence of somebody who is not the user orders something, or says of the user what only they may."""
    return is_order(text) or any(pattern.search(_text_variants(text)[-1]) for pattern in _CLAIMS)


_CLAIMS: Final = (_FOR_A_MACHINE, _HEARSAY, _SENSITIVE)


def _text_variants(text: str) -> tuple[str, ...]:
    """A sentence as it is written, and without what is there to hide what it says; of a very long one its two ends."""
    return _deobfuscate_text(text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]} {text[-_LOOKED_AT:]}")


@lru_cache(maxsize=1024)
def _deobfuscate_text(text: str) -> tuple[str, ...]:
    text = text.lower()
    folded = text if text.isascii() else normalize_unicode("NFKC", _UNSEEN.sub("", text)).translate(_CONFUSABLE)
    bare = " ".join(_MARKS.sub(" ", folded).split())
    joined = _SPACED_OUT.sub(lambda found: re.sub(r"[ .\-_]", "", found[0]), bare)
    return (joined,) if joined == folded else (folded, joined)
