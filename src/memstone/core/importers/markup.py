"""Text without HTML, without what cannot be seen and without what cannot be stored.

Only elements that HTML has are taken out, and none inside code: ``list[str]`` written as ``List<String>`` stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

_NAMES: Final = frozenset(
    """a abbr address area article aside audio b base bdi bdo blockquote body br button canvas caption cite code col
    colgroup data datalist dd del details dfn dialog div dl dt em embed fieldset figcaption figure font footer form
    frame frameset
    h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link main map mark marquee
    menu meta meter nav noscript object ol optgroup option output p param picture pre progress q s samp script section
    select small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead
    time title tr track tt u ul var video wbr""".split()
)
_WITH_CONTENT: Final = frozenset("script style template noscript iframe object embed svg title head".split())
"""What is in these is no text of anybody."""

_BREAKS: Final = frozenset(
    "br p div li ul ol tr table h1 h2 h3 h4 h5 h6 hr blockquote section article pre dd dt".split()
)
_TAG: Final = re.compile(r"<!--|<(/?)([A-Za-z][A-Za-z0-9]{0,15})(?=[\s/>])[^<>]{0,4000}>")
_CODE: Final = re.compile(r"```|~~~|`")
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Control characters, marks that turn or hide text, tags nobody sees, and halves of characters."""

_BLANK_LINES: Final = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")


def plain_text(text: str) -> str:
    """The text as somebody reads it."""
    seen = _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if "<" in seen or "&" in seen:
        seen = "".join(part if is_code else _without_tags(part) for part, is_code in _parts(seen))
    return _BLANK_LINES.sub("\n\n", seen).strip()


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Stretches of the text, and whether each is code; a mark that nothing closes opens nothing."""
    at, search = 0, 0
    while mark := _CODE.search(text, search):
        closing = text.find(mark[0], mark.end())
        if closing < 0 or (mark[0] == "`" and "\n" in text[mark.end() : closing]):
            search = mark.end()
            continue
        yield text[at : mark.start()], False
        at = search = closing + len(mark[0])
        yield text[mark.start() : at], True
    yield text[at:], False


def _without_tags(text: str) -> str:
    """Tags go, entities are read, and what looks like a tag only then goes too."""
    return _stripped(unescape(_stripped(text)))


def _stripped(text: str) -> str:
    parts: list[str] = []
    at = 0
    while found := _TAG.search(text, at):
        name = (found[2] or "").lower()
        if name and name not in _NAMES:
            parts.append(text[at : found.end()])
            at = found.end()
            continue
        parts += [text[at : found.start()], "\n" if name in _BREAKS else ""]
        at = _end(text, found, name)
    return "".join([*parts, text[at:]])


def _end(text: str, found: re.Match[str], name: str) -> int:
    """Where an element ends of which nothing is kept; a comment or a script that nothing closes goes on to the end."""
    if not name:
        closing = text.find("-->", found.end())
        return len(text) if closing < 0 else closing + 3
    if name not in _WITH_CONTENT or found[1] or found[0].endswith("/>"):
        return found.end()
    tag = re.compile(rf"</{name}[^>]{{0,200}}>", re.IGNORECASE).search(text, found.end())
    if tag is None:
        return found.end() if name == "embed" else len(text)
    return tag.end()
