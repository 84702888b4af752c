"""Patterns for the ways in which people ask for memories."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memstone.language.en.gate.words import (
    FAMOUS,
    PLACES_AND_BRANDS,
    PRIVATE_THINGS,
    PUBLIC_WORDS,
    TECH,
    TECH_THINGS,
    TECH_WEAK,
    join_alternatives,
)
from memstone.language.lists import read_data

_DATA: Final = read_data("en", "gate_phrases")

# --- how people ask for what is remembered ----------------------------------------------------------------------------


MONTH: Final = "january|february|march|april|may|june|july|august|september|october|november|december"
DAY: Final = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
PAST_FORMS: Final = frozenset(_DATA["past_forms"].split())
"""What happened, in verbs that do not end in -ed."""

_PAST: Final = rf"(?!need\b|feed\b|\w+ceed\b|bleed\b|breed\b)(?:[a-z]+ed|{join_alternatives(PAST_FORMS)})"
_ADVERBS: Final = (
    r"(?:(?:have|had|already|just|also|ever|both|really|originally|first|last|once|actually|never|finally) ){0,3}"
)
_DID_TOGETHER: Final = (
    r"(?:discussed|talked|spoke|decided|agreed|planned|drew|made|set|chose|picked|came up|left off|stopped|worked|looked"
    r"|went|settled|wrote|built|did|said|started|used|tried|booked|put|finished|ordered|compared|covered|listed|drafted"
    r"|outlined|sketched|brainstormed|reviewed|ended|landed|were (?!all\b|born\b)\w+ing|got|had|wanted|saw|met|bought)"
)
_OFFERED: Final = (
    r"(?:said|told|mentioned|suggested|recommended|proposed|gave|showed|wrote|sent|promised|advised|explained|came up"
    r"|helped|made|drafted|listed|found|picked|called|described|warned|quoted|named|estimated|calculated|planned|put|set"
    r"|had (?:me|us)|offered|taught|outlined|built|generated|created)"
)


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return one pattern for all."""
    return re.compile("|".join(patterns))


IDENTITY: Final = any_of(
    r"\bwhat is my (?:full |first |last |middle |real |sur)?(?:name|job|role|profession|occupation|job title|age)\b",
    r"\bwho am i\b(?! (?:to judge|talking|speaking|chatting|dealing|kidding))",
    r"\b(?:tell me|say something|write|what do you think) about (?:me|myself)\b|\bon file about me\b",
    r"\byou (?:\w+ )?(?:know|remember|learned|learnt|stored|saved|remembered|noted|gathered) (?:\w+ )?about (?:me|us)\b",
    r"\bwhat do i do\b(?=\W*$| for (?:a living|work|money)| professionally| again)|\bwhat do (?:people|you) call me\b",
    r"\bwhere (?:do i (?:work|live|come from)|did i grow up|am i (?:from|living|working))\b",
    r"\bhow old am i\b|\bwhat am i called\b|\b(?:when|what year) was i born\b",
    r"\bdo you know (?:who|what|where|how old|if|whether) i am\b|\b(?:describe|introduce|profile) me\b|\bsum me up\b",
    r"\bwhat (?:kind|sort|type) of (?:\w+ )?(?:person|\w+er) am i\b|\bdo you know me\b|\bdo you remember me\b",
    r"\bwie hei(?:\u00df|ss)e ich\b|\bwie alt bin ich\b|\bwer bin ich\b|\bwas wei(?:\u00df|ss)t du \u00fcber mich\b|\bc\u00f3mo me llamo\b|\bqui\u00e9n soy\b|\bd\u00f3nde vivo\b",
    r"\bqui suis-je\b|\bcomment je m'appelle\b|\bqu[e\u00e9] sabes de m\u00ed\b|\bcome mi chiamo\b|\bchi sono\b|\bqual \u00e9 (?:o )?meu nome\b",
    "\u043a\u0430\u043a \u043c\u0435\u043d\u044f \u0437\u043e\u0432\u0443\u0442|\u043a\u0442\u043e \u044f\\b|\u6211\u662f\u8c01|\u6211\u53eb\u4ec0\u4e48|\u79c1\u306e\u540d\u524d",
)

IDENTITY_WORDS: Final = frozenset(
    "i me myself us ich mich llamo soy vivo suis-je m'appelle chiamo sono nome m\u00ed \u043c\u0435\u043d\u044f \u044f name job role profession occupation".split()
)

_ADVICE: Final = "mention|promise|suggest|propose|recommend|advise"
_SPEECH_VERBS: Final = (
    r"(?:i|we|you)(?: \w+)? (?:said|told|wrote|asked|put|phrased|worded|called|typed|texted"
    rf"|(?:{_ADVICE})e?d)"
)
_SAYING: Final = rf"(?:say|said|tell|told|write|wrote|written|ask|asked|put|call|phrase|word|(?:{_ADVICE})(?:e?d)?)"
_SAY: Final = rf"(?:did|had|have) (?:i|we|you) (?:\w+ )?{_SAYING}"
_SHOW: Final = r"(?:quote|repeat|read|give|show|recite|tell|find|copy|pull up)"
_LITERAL: Final = (
    r"(?:exactly|exact|verbatim|word for word|word-for-word|literally|literal|precise|precisely|to the letter)"
)
TRANSCRIPT: Final = any_of(
    rf"\b{_LITERAL}\b.{{0,40}}\b{_SAY}\b|\b{_SAY}\b.{{0,60}}\b{_LITERAL}\b|\b(?:did|had|have) (?:i|we|you) {_LITERAL} {_SAYING}\b",
    rf"\b{_SHOW}\b.{{0,50}}\b{_LITERAL}\b.{{0,40}}\b(?!you just){_SPEECH_VERBS}\b|\b{_SHOW}\b.{{0,30}}\b(?!you just){_SPEECH_VERBS}\b.{{0,60}}\b{_LITERAL}\b",
    r"\b(?:my|our|your) (?:exact|own|literal|original|very|precise) (?:words|wording|phrasing|quote|message|sentence)\b",
    r"\b(?:the )?(?:exact|literal|original|precise) (?:words|wording|phrasing|quote) (?:that )?(?:i|we|you)\b",
    r"\bquote (?:me|my|back|what i|what we)\b|\bhow (?:exactly )?did i (?:phrase|word|put|formulate)\b",
    r"\b(?:show|give|find|pull up|open|read)\b.{0,20}\b(?:transcript|chat log|chat history|message log|conversation log)\b",
    r"\b(?:transcript|chat log|full text) of (?:our|my|the) (?:\w+ )?(?:chat|conversation|session|talk|call)\b",
)
"""A wish for the very words always names who said them; "exactly" alone is a wish about the answer."""

TRANSCRIPT_WORDS: Final = frozenset(
    """exactly exact verbatim word word-for-word literally literal precise precisely letter words wording phrasing quote
    original own very phrase put formulate transcript log history text""".split()
)

CLOCK: Final = any_of(
    rf"\byesterday\b|\blast (?:week|month|year|time|session|night|weekend|spring|summer|autumn|fall|winter|{DAY}|{MONTH})\b",
    r"\bprevious(?:ly)? (?!to\b)|\bpreviously\b|\bago\b|\bearlier\b(?! than)|\bthe other (?:day|night|week)\b|\ba while back\b",
    r"\bthe last time\b|\blast (?:few|couple|two|three|\d+) (?:days|weeks|months)\b",
    r"\b(?:gestern|vorgestern|neulich|vorhin|letzte[nrs]? (?:woche|mal|jahr|monat)|ayer|anoche|la (?:semana|vez) pasada|la \u00faltima vez)\b",
    r"\b(?:la semaine derni\u00e8re|la derni\u00e8re fois|t'ai dit|m'as dit|te dije|me dijiste|hast du (?:mir )?gesagt|habe? ich (?:dir )?gesagt)\b|\bhier \?",
    r"\b(?:ieri|la settimana scorsa|l'ultima volta|ti ho detto|gisteren|vorige week|ontem|na semana passada|wczoraj)\b",
    "\u0432\u0447\u0435\u0440\u0430|\u6628\u5929|\u4e0a\u6b21|\u6628\u65e5|\u524d\u56de|\uc5b4\uc81c",
)
"""Times that are told from now, or to the day."""

DATE: Final = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
CLOCK_WORDS: Final = frozenset(_DATA["clock_words"].split())

LOOSE_CLOCK: Final = any_of(
    rf"\bwhen did\b|\b(?:on|from|since|until|till|by|next|this) (?:{DAY})\b|\bin (?:{MONTH})\b",
    r"(?<!comes )(?<!come )(?<!came )(?<!goes )\bbefore\b(?! or after (?!the\b|my\b|i\b|we\b)| [a-z]\b| (?:i|you|we|they|it) (?!\w+ed\b|went|left)\w+| \w+ing\b(?! and)| a | an | eating| bed\b)",
)
"""Times that questions of general knowledge hold too: they count beside something that is the user's."""

OWN_CHOICE: Final = re.compile(r"(?<!how )(?<!why )(?<!where )(?<!what )\b(?:should|shall|ought) (?:i|we)\b")
"""What to decide depends on who asks, also where it is about something that everybody knows."""

HAPPENED: Final = re.compile(
    r"(?<!\bis )(?<!\bare )\b(?:\w{3,}ed|i|we|me|my|our|us|he|she|his|her|did|was|were|had|happened|went|said|the|that|this|those|anything|something|anyone|plan\w*|free|busy|what is)\b"
)
OPENS_QUESTION: Final = re.compile(
    r"(?:so |and |ok |but ){0,3}(?:what|which|who|when|where|why|how|do|does|did|is|are|was|were|can|could|should|would|will|has|have)\b"
)

WENT: Final = re.compile(
    r"^\W*(?:(?:so|and|ok|okay|hey|hi|well|oh|but),? ){0,3}(?:how (?:did|was|were|has|have) (?:it|that|this|they|things?|everything|all of it)"
    r"(?: (?:go|gone|been|end|ended|turn|turned|work|worked|come|came))?(?: (?:up|out|along))?"
    r"|(?:what (?:happened|became|came)|any (?:news|updates?))(?: (?:of|on|with|about|from) (?:it|that|this|them))?)"
    r"(?: (?:then|in the end|after all|so far|yet|for (?:me|us)))*\W*$"
)
"""Short questions about something that was going on when it was last mentioned: they name nothing themselves."""

OUTCOME: Final = re.compile(
    r"\bhow (?:did|has|have) .{1,60}\b(?:go|gone|been|(?:turn|turned|work|worked) out|(?:end|ended) up)\b"
    r"|\bhow (?:was|were) (?:my|our|the|your|that)\b|\bwhat (?:happened|became|came) (?:of|to|with|at)\b"
    r"|\bany (?:news|updates?) (?:of|on|from|about)\b"
)
"""Questions about how something went that they name."""

PRIOR: Final = any_of(
    rf"(?<!if )\bwe {_ADVERBS}{_DID_TOGETHER}\b|\b(?:did|have|had|were|was) we\b",
    rf"\byou {_ADVERBS}{_OFFERED}\b|\b(?:did|have|had) you (?:\w+ )?(?:say|said|tell|told|mention|suggest|recommend|propose"
    r"|advise|write|wrote|written|promise|give me|given me|show me|shown me|come up|call it|settle|have me)\b",
    r"\b(?:remember|recall) (?:when|that|the|what|how|where|who|which|if)\b|\b(?:as|like) i (?:\w+ )?(?:said|mentioned|told)\b",
    r"\bthat thing (?:we|i)\b|\bi (?:already |just )?(?:told|asked|showed|sent|gave|mentioned to) you\b|\bas (?:discussed|agreed)\b",
    r"\b(?:what|which|who|where|when|how|that|those|the|things|stuff|everything|anything|one|ones|[a-z]+s) "
    r"(?:(?!do\b|does\b|can\b|could\b|should\b|would\b|will\b|to\b|if\b)\w+ )?"
    rf"(?:i|we) {_ADVERBS}{_PAST}\b(?! (?:to |wrong|this|here))",
    rf"\b(?:the|that|those|list|all|every) (?:[\w'-]+ ){{1,4}}(?:that )?(?:i|we) {_ADVERBS}{_PAST}\b",
    r"\bwhere (?:were|was) (?:we|i)\b|\b(?:same|like) (?:as )?(?:last|before|always|usual|previously)\b|\bas usual\b|\bsame again\b",
    r"\bthe usual\b(?=\W*$|[,.?!;]| for (?:me|us)| please| and| but| one| place| order| spot| time| way| report| thing)",
    r"\b(?:from|like) (?:before|last|earlier|our|the other)\b|\blike on \w+day\b|\b(?:our|my) (?:last|previous|earlier|first)\b(?! (?:commit|branch|line|element|item|command|name|message|question))",
    r"\b(?:as|like|way) (?:you|we|i) did\b|\byour (?:fix|suggestions?|advice|tips?|recommendations?|proposal|idea|plan)\b",
    r"\b(?:order|get|do|have|make|send|book|buy|grab) (?:me |us )?the usual\b|\bwhere (?:are|do) we (?:with|stand)\b|\bversion \d of the\b",
    r"\b(?:let us|can we|could we|shall we|i want to|want to|ready to|time to) (?:\w+ )?(?:continue|go on|keep going|resume|get back to|go back to"
    r"|pick up|carry on|return to|revisit|finish|do another|keep (?:working|going|at)|work on|wrap up|move on with)\b",
    r"^\W*(?:ok |okay |so |now |please |and ){0,3}(?:continue|resume|carry on|go on|back to|pick up|keep going) (?:with|on|from|where|the|our|to)\b",
    r"\b(?:pick|get) .{0,30}\bback (?:up|into)\b|\b(?:left off|stopped last|pick(?:ed)? up where|next (?:chapter|lesson|session|step) (?:of|in) (?:our|my|the))\b",
)
"""References to earlier talk."""

PRIOR_WORDS: Final = frozenset(
    """i we you your us our my same usual like from remember recall that back continue resume carry go pick keep version
    left stopped next as""".split()
)

RECALL: Final = any_of(
    r"\b(?:remember|remembers|recall|forget|forgot|forgotten)\b|\b(?:did|have) i (?:\w+ )?(?:say|said|tell|told|mention)\w*\b",
    r"\bdo you know about (?:my|our)\b|\bremind (?:me|us)\b|\bdo you (?:still |happen to )?know (?:my|our|if i|whether i|what i"
    r"|where i|who i|which \w+ i|when i|how i|if we|what we|where we)\b|\byou know (?:my|me|how i|what i|i am|that i)\b",
    r"\bte acuerdas\b|\brecuerdas\b|\berinner\w+ du\b|\bwei(?:\u00df|ss)t du noch\b|\btu te souviens\b|\bte souviens-tu\b",
    r"\bte rappelles\b|\bti ricordi\b|\bvoc\u00ea (?:se )?lembra\b|\blembras\b|\bweet je nog\b|\bherinner je\b|\bpami\u0119tasz\b",
    "\u043f\u043e\u043c\u043d\u0438\u0448\u044c|\u8bb0\u5f97|\u899a\u3048\u3066|\uae30\uc5b5\ud574",
)
RECALL_WORDS: Final = frozenset(
    """remember remembers recall forget forgot forgotten remind know i acuerdas recuerdas du souviens souviens-tu rappelles
    ricordi lembra lembras nog herinner pami\u0119tasz""".split()
)
NOT_RECALL: Final = any_of(
    r"\b(?:how|why|what) (?:do|does|can|to|should|would|is|are|did|could|makes?) .{0,40}\b(?:remember|recall|forget|memorize)\b"
    r"(?! (?:my|our|me|that i|what i|when i|the \w+ (?:i|we)))",
    r"\b(?:a|an|the) (?:\w+ )?recalls?\b|\b(?:product|vehicle|car|total|precision and|safety) recalls?\b|\brecall (?:rate|and precision|of|score)\b",
    r"^\W*(?:forget (?:it|about it|that|this)\W*$|never mind)|\b(?:do forget|remember|never forget) to\b|\byou forgot\b(?! (?:what|my|that i|our))",
    r"\b(?:way|ways|trick|tricks|mnemonic|technique|techniques|tips?|easy|hard|hardest) (?:\w+ ){0,3}to (?:remember|forget|memorize)\b",
    r"\b(?:do|does|can) (?!you|i|we)\w+ (?:really )?(?:remember|recall|forget)\b|\bremember things\b",
    r"\b(?:forgot|forget|reset|recover) (?:my|the|a) (?:\w+ )?password\b",
)
"""Remembering as a subject, a figure of speech or a wish about the answer."""

POSSESSIVE: Final = any_of(
    r"\b(?:my|our) (?!(?:god|goodness|bad|pleasure|apologies|point|opinion|view|two cents|2 cents|mind|question is|guess|word|oh|dear|lord"
    r"|gosh|understanding|assumption|reasoning|grammar|spelling|punctuation|wording|last message|previous message|last question|question|request|prompt)\b)[^\W_]+",
    r"\b(?:of|like|is|are|was|than|with|from|that) mine\b|\bmine\?",
    r"\b(?:mein|meine|meinem|meinen|meiner|meines|mijn|meu|minha|meus|minhas|mio|mia|miei|unser\w{0,2}) [^\W\d_]{3,}",
    r"\b(?:a|de|con|para|que|es|son|le|en) (?:mi|mis) [^\W\d_]{3,}|\b(?:de|\u00e0|a|est|pour|avec|que|pas|quel|quelle|sont|s'appelle) (?:mon|ma|mes) [^\W\d_]{3,}",
    "\u6211\u7684|\u79c1\u306e|\u50d5\u306e|\uc81c |\ub0b4 |\u043c\u043e[\u0439\u044f\u0438\u0435]\\b|\u043c\u043e(?:\u0435\u0433\u043e|\u0435\u0439|\u0438\u0445|\u0435\u043c\u0443)\\b",
)
POSSESSIVE_WORDS: Final = frozenset(
    """my our mine mein meine meinem meinen meiner meines mijn meu minha meus minhas mio mia miei mi mis mon ma mes unser
    unsere unserer unseren unserem unseres""".split()
)
TECH_POSSESSIVE: Final = re.compile(rf"\b(?:my|our) (?:\w+ ){{0,3}}?(?:{join_alternatives(TECH_THINGS)})\b")

THIS_TURN: Final = any_of(
    r"^\W*(?:please |can you |could you |ok |now ){0,3}(?:explain|say|repeat|elaborate|rephrase|try|redo|show|read|do|write) (?:me )?(?:that|this|it|the (?:last|previous|first"
    r"|second|third) (?:part|point|sentence|paragraph|step|one|answer|line)|that last \w+)\b(?!.* (?:to|for|from) (?:my|the|mom|mum|dad)\b)",
    r"\bnot what i (?:asked|said|meant|wanted)\b|\bthat last (?:part|point|sentence|bit|one)\b",
)
"""Wishes about the answer just given, which is before the model anyway."""


# --- what a message says in the user's own words ----------------------------------------------------------------------


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
_SUPPLIED_MATERIAL: Final = re.compile(rf"\b(?:{_WORK}|{_MATERIAL}|this|following)\b", re.IGNORECASE)
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
"""What has to be in a message for any of these; looking for it is quicker."""

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
_CONTRACTED_WORDS: Final = frozenset(_DATA["contracted_words"].split())
_TOKEN: Final = re.compile(r"[^\W_]+(?:(?:-|'(?!s\b))[^\W_]+)*|'s\b|\"\"|[^\w\s]")
_WORD: Final = re.compile(r"[^\W_]")
_COUNTRY: Final = re.compile(r"\bU\.?S\.?(?![\w])")


@dataclass(frozen=True, slots=True)
class OwnWords:
    """A message's own words.

    ``text`` is as it was written, ``low`` in small letters with contractions written out, ``tokens`` its words and
    marks in order, ``words`` the same without order.
    """

    text: str
    low: str
    tokens: list[str]
    words: frozenset[str]


def own_words_of(message: str) -> OwnWords:
    """Return the user's own words in a message."""
    text = own_words(message)
    low = " ".join((_COUNTRY.sub("usa", text) if "U" in text else text).lower().split())
    tokens = _TOKEN.findall(low)
    words = frozenset(tokens)
    if not words.isdisjoint(_CONTRACTED_WORDS):
        low = _CONTRACTED.sub(_expand_contraction, low)
        tokens = _TOKEN.findall(low)
        words = frozenset(tokens)
    return OwnWords(text, low, tokens, words)


def _expand_contraction(found: re.Match[str]) -> str:
    at = found.lastindex or 1
    if found[0] == "its":
        return found[0]
    stem = found[at]
    return _IRREGULAR.get(stem, stem) + _EXPANDED[at - 1]


def own_words(message: str) -> str:
    """Return a message without what the user only quotes, pastes or passes."""
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
    text = _replace_quotations(text)
    if ":" in text:
        text = _before_material(text)
    low = text.lower()
    if low != text:
        text = _TITLE.sub(QUOTED_MARK, text)
    framed = any(word in low for word in _FRAMES)
    return (_UNQUOTED.sub(_keep_frame, text) if framed else text).strip()


def _replace_quotations(text: str) -> str:
    if not any(mark in text for mark in _QUOTES):
        return text
    left = _QUOTED.sub(f" {QUOTED_MARK} ", text)
    return left if _WORD.search(left) else _BARE_QUOTES.sub(" ", text)


def _before_material(text: str) -> str:
    colon = _COLON.search(text)
    if colon is None:
        return text
    head = text[: colon.start()]
    return f"{head}:" if _SUPPLIED_MATERIAL.search(head) or _LABELLED.match(text) else text


def _keep_frame(found: re.Match[str]) -> str:
    remaining = [part for part in found.groups() if part]
    return QUOTED_MARK.join(remaining) if len(remaining) > 1 else f"{remaining[0]} {QUOTED_MARK}"


def _asking_lines(text: str) -> str:
    """Return the lines in which the user speaks: not those of a log, a program, a quotation or a letter."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    ends = [line for line in (lines[0], lines[-1]) if _COMMAND.match(line)]
    if ends and len(lines) > 1:
        return ends[0]
    if len(lines) >= _MANY_LINES and _LETTER.match(lines[0]):
        return ""
    return " \n".join(line for line in lines if not _LOG_LINE.match(line))


# --- what a message is about when it is about nobody ------------------------------------------------------------------


_PUBLIC: Final = PLACES_AND_BRANDS | FAMOUS | TECH
_SPEAKERS: Final = frozenset("i me my our you your".split())
_GENERIC: Final = re.compile(
    r"\bdifference between\b|\bhow (?:does|do) .{1,60} work\b|\bwhat (?:is|are) an? \b|\bwho (?:invented|discovered|founded|wrote|painted|composed|won|killed|assassinated|built)\b"
    r"|\b(?:history|capital|population|meaning|definition|origin|inventor|founder|president|king|queen) of\b|\b1\d{3}\b|\bcentury\b"
)
_PUBLIC_NAME: Final = re.compile(
    r"\b[Tt]he (?!(?:\w+day|January|February|March|April|May|June|July|August|September|October|November|December)\b)[A-Z]\w+"
    r"|\b[A-Z]\w+ (?:[A-Z]\w+|I{1,3}\b|\d)"
)
_THE_OWN: Final = re.compile(
    r"\b(?:the|that) (?!post office)(?!(?:most|best|first|average|right|main|meaning|difference|usual|typical|standard|normal|recommended|correct|proper) )"
    rf"(?:[\w'-]+ ){{0,2}}?(?:{join_alternatives(PRIVATE_THINGS)})s?\b(?! of an? | in general)"
)
"""What people call "the" without having said which."""

_IDENTIFIER: Final = re.compile(
    r"[^\W_]_\w|\b[a-z]+[A-Z]|\(\)|\.(?:py|js|ts|txt|json|csv|sh|sql|md|html|css)\b|[{};]|=>|=="
)
_HOW_TO: Final = re.compile(
    r"\b(?:how (?:do|can|could|should|would|to|does|did)|why (?:is|does|do|are|did|will|would|am)|what is (?:wrong|the best way|the right way)|can i"
    r"|what (?:does|causes|happens)|is it (?:possible|ok|safe)|best way to|is there a way|fix|explain|difference between|write an?|convert|command|undo)\b"
)
_TROUBLE: Final = re.compile(
    r"\b(?:why|error|errors|returns?|fail|fails|failing|crash\w*|broken|throws?|slow|wrong|bug|exits?|undefined|fix|stuck|hangs?|does|match|how (?:do|can|to|should|would)"
    r"|can i|what does|command|undo|is it possible|best way|write an?|convert|explain|possible|way to)\b"
)
_ANYBODY: Final = any_of(
    r"\bhow (?:do|can|would|could|to|did) (?:i|we|you|people|one)\b|\bhow to\b|\bwhere (?:can|could|do) i (?:find|buy|watch|learn|get|read|see|stream|download)\b",
    r"\bi (?:want to (?:know|understand|learn)|mean|meant|see|think|guess|wonder|do (?:get|understand|know)|would like to (?:know|understand))\b",
    r"\b(?:should|do|can) (?:i|we) (?:know|need to know|understand|use|say|call|write|pronounce|assume|trust the|peel|refrigerate|freeze|rinse|soak|add)\b",
    r"\bwhat do i do (?:when|if)\b|\bwhen (?:i am|you are) ahead\b|\b(?:can|could|may) i (?:ask|get you|have you)\b|\bwhat (?:temperature|angle|setting) (?:should|do)\b",
    r"\bwhat if\b|\bif i\b|\bwhat (?:is|are) an? |\bwhat causes\b|\bshould (?:you|one|people)\b|\bin general\b|\bgeneric\b|\b(?:does|can|has|did) an? \w",
)
"""What anybody might ask, in whatever person."""

_TYPICAL: Final = re.compile(
    r"\bthe (?:most|least|best|worst|average|typical|usual|first|\w{3,}est)\b|\b(?:average|typical|typically|usually|generally)\b"
)
_WORLD_MATERIAL: Final = re.compile(
    r"\b(?:this|these|the (?:above|following)) (?:\w+ )?(?:text|sentences?|message|passage|paragraph|email|code|list|poem|quote)\b"
)
_NUMBER: Final = re.compile(r"\d+")
_REASONED: Final = re.compile(r"\bhow (?:many|much|long|far|old|fast)\b|^if\b|\b(?:twice|sum|ratio|probability)\b")
_SHARED: Final = re.compile(r"\b(?:each|every|per|left|total|twice|sum|ratio|probability)\b")
_RIDDLE: Final = re.compile(r"^if [a-z]+ (?:is|has|was|and)\b|\b(?:twice|sum of|ratio of|probability of)\b")


def is_general(words: OwnWords) -> bool:
    """Return whether it asks about the world: a public subject, and nobody who speaks."""
    if words.words & _SPEAKERS or (words.words & {"we", "us"} and not words.words & PUBLIC_WORDS):
        return False
    return has_public_subject(words) or (_has_public_name(words) and not _THE_OWN.search(words.text))


def has_public_subject(words: OwnWords) -> bool:
    """Return whether it names what everybody means the same by."""
    return bool(words.words & PUBLIC_WORDS or words.words & FAMOUS or _GENERIC.search(words.low))


def _has_public_name(words: OwnWords) -> bool:
    if QUOTED_MARK in words.text or not words.words.isdisjoint(PLACES_AND_BRANDS):
        return True
    return _PUBLIC_NAME.search(words.text) is not None


def is_everybodys(name: str) -> bool:
    """Return whether a name is one that everybody means the same by: of a place, a brand, a language."""
    return all(word in _PUBLIC for word in name.casefold().split() if not word.isdigit())


def is_of_the_world(words: OwnWords) -> bool:
    """Return whether what is asked about is the world, or how anybody does something."""
    return is_general(words) or is_technical_how_to(words) or _ANYBODY.search(words.low) is not None


def is_technical(words: OwnWords) -> bool:
    """Return whether it is about programs."""
    return bool(words.words & TECH or len(words.words & TECH_WEAK) > 1) or _IDENTIFIER.search(words.text) is not None


def is_technical_how_to(words: OwnWords) -> bool:
    """Return whether it asks how a program is made to do something."""
    return is_technical(words) and _HOW_TO.search(words.low) is not None


def is_trouble(words: OwnWords) -> bool:
    """Return whether it asks about a program as anybody might who has the same one."""
    if not (is_technical(words) or TECH_POSSESSIVE.search(words.low)):
        return False
    return _TROUBLE.search(words.low) is not None


def is_puzzle(words: OwnWords) -> bool:
    """Return whether it is arithmetic in words."""
    numbers = len(_NUMBER.findall(words.low))
    if not numbers:
        return _RIDDLE.search(words.low) is not None
    if numbers > 1 and _REASONED.search(words.low):
        return True
    return _SHARED.search(words.low) is not None and "how" in words.words


def is_anybodys(words: OwnWords) -> bool:
    """Return whether somebody else could have asked the same and wanted the same answer."""
    if is_general(words) or is_technical(words) or QUOTED_MARK in words.text or _WORLD_MATERIAL.search(words.low):
        return True
    if _ANYBODY.search(words.low):
        return True
    return not words.words & _SPEAKERS and _TYPICAL.search(words.low) is not None
