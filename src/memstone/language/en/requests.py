"""Find requests to remember or forget, and instructions on how to answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memstone.language.en.sentences import expand_contractions, split_sentences
from memstone.language.en.verbs import clause_to_third_person, name_speaker_in_clause, third_person
from memstone.model.memory import Kind

# --- what people ask their assistant to keep in mind ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UserRequest:
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


def forgets_everything(text: str) -> bool:
    """Return whether a plain sentence asks to forget all there is, and not something of it."""
    return bool(_EVERYTHING.match(_FORGET_END.sub("", text.rstrip(" .!?"))))


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


def request_of(text: str, who: str) -> UserRequest | None:
    """Return the request a plain sentence makes, or None."""
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
        request = make(text, who)
        if request is not None:
            return request
    return None


def _match_name_request(text: str, who: str) -> UserRequest | None:
    found = _CALLED.match(text)
    return UserRequest(f"{who} wants to be called {found[1]}.", "identity") if found else None


def _match_forget_request(text: str, who: str) -> UserRequest | None:
    if forgets_everything(text):
        return None
    text = text.rstrip(" .!?")
    bare = _FORGET_END.sub("", text)
    found = next((match for pattern in _FORGET if (match := pattern.match(bare))), None) or _DELETE.match(text)
    if not found or _OF_THE_TALK.match(found["what"]):
        return None
    return UserRequest(_as_fact(found["what"], who), "instruction", forget=True)


def _match_remember_request(text: str, who: str) -> UserRequest | None:
    found = _REMEMBER.match(text)
    if not found or not _WORTH_KEEPING.match(found[1]) or len(found[1].split()) < 3 or _ADVICE.match(found[1]):
        return None
    return UserRequest(_as_fact(found[1], who), "instruction")


def _match_reminder(text: str, who: str) -> UserRequest | None:
    found = _REMIND.match(text)
    return UserRequest(_as_fact(f"I want to be reminded {found[1].rstrip(' ?')}", who), "plan") if found else None


def _match_permission(text: str, who: str) -> UserRequest | None:
    found = _ALLOWED.match(text)
    return (
        UserRequest(f"{who} wants the assistant to {_reword_order(found['what'])}.", "instruction", Kind.PROCEDURAL)
        if found
        else None
    )


def _match_standing_instruction(text: str, who: str) -> UserRequest | None:
    found = _STANDING.match(text)
    if not found:
        return None
    how = "never" if found["how"].lower().startswith(("never", "do not")) else "always"
    return UserRequest(
        f"{who} wants the assistant to {how} {_reword_order(found['what'])}.", "instruction", Kind.PROCEDURAL
    )


def _match_conditional_order(text: str, who: str) -> UserRequest | None:
    found = _WHENEVER.match(text)
    if not found:
        return None
    when = _reword_order(found["when"])
    what = re.sub(r"^do not ", "not ", found["what"], flags=re.IGNORECASE)
    return UserRequest(
        f"{who} wants the assistant {_not_to(_reword_order(what)) if what.startswith('not ') else 'to ' + _reword_order(what)} {when}.",
        "instruction",
        Kind.PROCEDURAL,
    )


def _match_manner_request(text: str, who: str) -> UserRequest | None:
    found = _MANNER.match(text)
    if not found:
        return None
    what = re.sub(r"^do not ", "not ", found["what"], flags=re.IGNORECASE)
    return UserRequest(
        f"{who} wants the assistant {'' if what.startswith('not ') else 'to '}{_not_to(_reword_order(what))}.",
        "instruction",
        Kind.PROCEDURAL,
    )


def _match_procedure(text: str, who: str) -> UserRequest | None:
    found = _PROCEDURE.match(text)
    if found:
        return UserRequest(
            name_speaker_in_clause(f"To {found['goal']}, {found['how']}", who), "procedural", Kind.PROCEDURAL
        )
    found = _RECIPE.match(text)
    if found and _OURS.search(text):
        return UserRequest(_format_recipe(text, found, who), "procedural", Kind.PROCEDURAL)
    found = _PROCESS.match(text)
    if found and len(found["how"].split()) >= 3:
        return UserRequest(
            name_speaker_in_clause(f"{found['which']}: {found['how']}", who), "procedural", Kind.PROCEDURAL
        )
    return None


def _format_recipe(text: str, found: re.Match[str], who: str) -> str:
    return (
        name_speaker_in_clause(f"How {who} {_goal_in_third_person(found['goal'])}: {found['how']}", who)
        if found["goal"]
        else name_speaker_in_clause(text, who)
    )


def _goal_in_third_person(goal: str) -> str:
    """Return something such as "make my bread", said of somebody else."""
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
    """Return an order, told about the one who gives it."""
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
    """Return whether a sentence asks to forget something, or all there is."""
    if not may_forget(sentence):
        return False
    text = expand_contractions(sentence)
    return _match_forget_request(text, "User") is not None or forgets_everything(text)


def may_forget(text: str) -> bool:
    """Return whether a message has a word by which somebody asks to forget something; most have none."""
    return _MAY_FORGET.search(text) is not None


def asks_to_forget_all(text: str) -> bool:
    """Return whether a sentence of a text asks to forget all there is."""
    return any(forgets_everything(expand_contractions(one.strip())) for one in split_sentences(text))
