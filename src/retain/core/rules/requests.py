"""What people ask their assistant to keep in mind: names, manners, facts to remember or to forget, procedures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from retain.core.rules.rewrite import third
from retain.model.memory import Kind


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked, as a sentence about the one who asks."""

    text: str
    category: str
    kind: str = Kind.FACTUAL
    forget: bool = False


_PLEASE: Final = r"^(?:please |pls |kindly |hey,? |can you |could you |would you |i want you to |i would like you to |i need you to |from now on,? |going forward,? |in (?:the )?future,? |just |always |do )*"
_CALLED: Final = re.compile(
    rf"{_PLEASE}(?:call me|address me as|refer to me as|use the name) ((?-i:[A-Za-z][\w'-]*(?: [A-Z][\w'-]+)?))(?:,? (?:please|from now on|instead|thanks|going forward|ok))*$",
    re.IGNORECASE,
)
_REMEMBER: Final = re.compile(
    r"^(?:please |pls |can you |could you )*(?:remember|keep in mind|note|do not forget(?= (?:that|my|i|the)\b)|never forget(?= (?:that|my|i)\b)|make a note|take note|bear in mind|for (?:your|the) (?:information|record))(?: down)?(?: that|:|,|;)? (?!to (?:tell|ask|call|buy|send|do|check)\b)(.+)$",
    re.IGNORECASE,
)
_FORGET: Final = re.compile(
    r"^(?:please |pls |can you |could you )*(?:forget|delete|erase|drop|remove)(?: (?:that|about|what i said about|the fact that|everything about))+,? (.+)$",
    re.IGNORECASE,
)
_STANDING: Final = re.compile(
    r"^(?:please |pls |from now on,? |going forward,? |in (?:the )?future,? )*(?P<how>always|never|do not ever|from now on,?|by default,?|going forward,?)(?: please)? (?P<what>(?:answer|reply|respond|use|write|speak|talk|give|keep|be|show|include|avoid|start|end|explain|add|format|address|quote|cite|ask|send|assume|put|mention|round|spell|sign)\b.*)$",
    re.IGNORECASE,
)
_MANNER: Final = re.compile(
    r"^(?:please |pls |can you |could you |i want you to |i would like you to )*(?P<what>(?:do not (?:use|add|include|write|send|call me|give me|be (?:so|too|verbose|formal|polite))|stop (?:using|adding|giving me|calling me|being (?:so|too)|apologi[sz]ing|saying)|(?:answer|reply|respond|write|speak|talk)(?: to me)? (?:only |always )?in \w+|use (?:metric|imperial|celsius|fahrenheit|british|american|24|12|bullet|plain|simple|short|formal|informal|he|she|they)\b|keep (?:your |the )?(?:answers|replies|responses|it|things|messages) (?:short|brief|concise|simple|formal|casual|under|to)|be (?:more |less )?(?:brief|concise|formal|informal|direct|polite|casual))\b.*?)(?: please| from now on| going forward| when you answer| with me| in your (?:answers|replies))*$",
    re.IGNORECASE,
)
_PROCEDURE: Final = re.compile(
    r"^(?:to|in order to) (?P<goal>[\w -]{3,60}?),? (?P<how>(?:you (?:have to|need to|must|should) |we (?:have to |need to )?|i (?:have to |need to )?|first |just )?(?:run|use|call|execute|open|press|click|type|go|start|build|push|tag|merge|deploy|set|copy|install|restart|send|ask|log|create|fill|turn|hold|enter|edit|export|make)\b.+)$",
    re.IGNORECASE,
)
_PROCESS: Final = re.compile(
    r"^(?P<which>(?:our|my|the) (?:\w+ ){0,3}(?:process|workflow|procedure|routine|recipe|policy|convention|rule|checklist|steps?)(?: for [\w -]+?)?) (?:is|are|goes|works|has)(?: (?:like this|as follows|to))?[:,]? (?P<how>.+)$",
    re.IGNORECASE,
)


def request_of(said: str, who: str) -> Request | None:
    """The request a plain sentence makes, or None."""
    for make in (_name, _forget, _remember, _standing, _manner, _procedure):
        request = make(said, who)
        if request is not None:
            return request
    return None


def _name(said: str, who: str) -> Request | None:
    found = _CALLED.match(said)
    return Request(f"{who} wants to be called {found[1]}.", "identity") if found else None


def _forget(said: str, who: str) -> Request | None:
    found = _FORGET.match(said)
    return Request(_as_fact(found[1], who), "instruction", forget=True) if found else None


def _remember(said: str, who: str) -> Request | None:
    found = _REMEMBER.match(said)
    return Request(_as_fact(found[1], who), "instruction") if found and len(found[1].split()) >= 2 else None


def _standing(said: str, who: str) -> Request | None:
    found = _STANDING.match(said)
    if not found:
        return None
    how = "never" if found["how"].lower().startswith(("never", "do not")) else "always"
    return Request(f"{who} wants the assistant to {how} {_about(found['what'])}.", "instruction", Kind.PROCEDURAL)


def _manner(said: str, who: str) -> Request | None:
    found = _MANNER.match(said)
    if not found:
        return None
    what = re.sub(r"^do not ", "not ", found["what"], flags=re.IGNORECASE)
    return Request(
        f"{who} wants the assistant {'' if what.startswith('not ') else 'to '}{_not_to(_about(what))}.",
        "instruction",
        Kind.PROCEDURAL,
    )


def _procedure(said: str, who: str) -> Request | None:
    del who
    found = _PROCEDURE.match(said)
    if found:
        return Request(f"To {found['goal']}, {found['how']}.", "procedural", Kind.PROCEDURAL)
    found = _PROCESS.match(said)
    if found and len(found["how"].split()) >= 3:
        return Request(
            f"{found['which'][0].upper()}{found['which'][1:]}: {found['how']}.", "procedural", Kind.PROCEDURAL
        )
    return None


def _not_to(what: str) -> str:
    return f"not to {what[4:]}" if what.startswith("not ") else what


_ABOUT: Final[tuple[tuple[str, str], ...]] = (
    (r"\bme\b", "them"),
    (r"\bmy\b", "their"),
    (r"\byour\b", "its"),
    (r"\byou\b", "it"),
)


def _about(what: str) -> str:
    """An order, told about the one who gives it."""
    for pattern, replacement in _ABOUT:
        what = re.sub(pattern, replacement, what, flags=re.IGNORECASE)
    return what.rstrip(" .!")


def _as_fact(what: str, who: str) -> str:
    what = what.strip().rstrip(".!")
    if re.match(r"^(?:i|we|my|our)\b", what, re.IGNORECASE):
        return third(what, who)
    return what[0].upper() + what[1:] + "."
