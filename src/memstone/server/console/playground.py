"""The playground: a chat, and what memory does with each message."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from memstone.api.aio.verbs import AsyncMemoryVerbs
from memstone.core.redact import preview_text
from memstone.engine.activity import list_newest_events
from memstone.errors import InvalidInput, MemstoneError
from memstone.model.access import Verb
from memstone.model.context_gate import GateMode
from memstone.model.policy import PRESETS
from memstone.server.console.templates import link_to
from memstone.server.console.visit import PAGE_HEADERS, NobodyNamed, Pages, Visit
from memstone.server.errors import error_for_caller, log_server_fault
from memstone.server.gateway.upstream import list_upstream_models

if TYPE_CHECKING:
    from memstone.results import AddResult, ContextBlock, ContextReceipt

pages = Pages()

PATH: Final = "/console/playground"
GATES: Final = tuple(str(mode) for mode in GateMode if mode is not GateMode.OFF)
_SESSIONS: Final = 200
_EXCHANGES: Final = 40
_HISTORY: Final = 20
_DROPPED: Final = 12
_CHARS: Final = 8_000
_MOST_BUDGET: Final = 16_000


# --- what somebody chose ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choices:
    """With whom one talks, and how memory behaves; '' and None are as the settings have it."""

    user: str
    session: str
    agent: str = ""
    preset: str = ""
    gate: str = ""
    budget: int | None = None
    model: str = ""
    learn: bool = True

    @property
    def scope(self) -> dict[str, Any]:
        """The keywords of a call."""
        return {"user_id": self.user, "agent_id": self.agent or None, "run_id": self.session}

    @property
    def address(self) -> str:
        """Where this conversation is found again."""
        return self.with_session(self.session)

    def with_session(self, session: str) -> str:
        """Return the address of the same choices in another conversation."""
        values = {"user": self.user, "agent": self.agent, "preset": self.preset, "gate": self.gate}
        more = {"budget": self.budget, "model": self.model, "learn": "" if self.learn else "no"}
        return link_to(PATH, session=session, **values, **more)


def _read_choices(visit: Visit, *, sent: bool) -> Choices:
    """Return what the address or the form says, checked."""
    read = visit.field if sent else visit.query
    user = visit.person or read("user").strip()
    if not user:
        raise NobodyNamed("the playground talks as one person")
    preset, gate, budget = read("preset"), read("gate"), read("budget").strip()
    if preset and preset not in PRESETS:
        raise InvalidInput(f"unknown preset {preset!r}", hint="one of " + ", ".join(PRESETS))
    if gate and gate not in GATES:
        raise InvalidInput(f"unknown gate {gate!r}", hint="one of " + ", ".join(GATES))
    if budget and (not budget.isascii() or not budget.isdigit() or int(budget[:9]) > _MOST_BUDGET):
        raise InvalidInput(f"the budget must be a whole number of tokens, at most {_MOST_BUDGET:,}")
    session = read("session").strip() or f"playground-{secrets.token_hex(3)}"
    more: dict[str, Any] = {
        "budget": int(budget) if budget else None,
        "model": read("model").strip(),
        "learn": read("learn") != "no",
    }
    return Choices(user, session, read("agent").strip(), preset if visit.sees_everybody else "", gate, **more)


def memory_with_preset(visit: Visit, preset: str) -> AsyncMemoryVerbs:
    """Return the memory of a visitor as it would behave under another preset."""
    settings = visit.console.state.settings
    if not preset or preset == settings.preset:
        return visit.memory
    other = settings.model_copy(update={"preset": preset}).for_service()
    return AsyncMemoryVerbs(visit.caller.engine.with_policy(other.as_policy()))


# --- one exchange -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ShownLine:
    """A line that a model was shown: what it says, what it cost, and why it was there."""

    memory_id: str
    text: str
    layer: str
    tokens: int
    score: float | None
    reason: str
    always: bool


@dataclass(slots=True)
class MemoryChange:
    """What became of something that was said."""

    event: str
    text: str
    old: str = ""
    reason: str = ""
    quote: str = ""
    memory_id: str = ""


@dataclass(slots=True)
class Trouble:
    """Something that did not work, and what to do."""

    message: str
    hint: str = ""


@dataclass(slots=True)
class ChatExchange:
    """One message, what memory did about it, and the answer."""

    message: str
    choices: Choices
    block: ContextBlock | None = None
    lines: list[ShownLine] = field(default_factory=list)
    dropped: list[tuple[str, str, str]] = field(default_factory=list)
    ms: float = 0.0
    answer: str = ""
    no_answer: Trouble | None = None
    learned: list[MemoryChange] = field(default_factory=list)
    not_learned: list[MemoryChange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    done: bool = False


class Conversations:
    """The last conversations of this process: enough to show a page again, and nothing that has to last."""

    def __init__(self) -> None:
        self._by_session: OrderedDict[tuple[str, str, str], list[ChatExchange]] = OrderedDict()

    def of(self, visit: Visit, choices: Choices) -> list[ChatExchange]:
        """Return the exchanges of a conversation, oldest first."""
        name = (visit.caller.key.id, choices.user, choices.session)
        found = self._by_session.setdefault(name, [])
        self._by_session.move_to_end(name)
        if len(self._by_session) > _SESSIONS:
            self._by_session.popitem(last=False)
        del found[:-_EXCHANGES]
        return found


def _conversations(request: Request) -> Conversations:
    app = request.app
    if getattr(app.state, "console_conversations", None) is None:
        app.state.console_conversations = Conversations()
    conversations: Conversations = app.state.console_conversations
    return conversations


# --- pages ------------------------------------------------------------------------------------------------------------


@pages.page(PATH, Verb.WRITE)
async def show_playground(visit: Visit) -> Response:
    """Show a conversation, and what memory did at each step."""
    choices = _read_choices(visit, sent=False)
    upstreams = visit.console.state.settings.gateway.upstreams
    values: dict[str, Any] = {
        "choices": choices,
        "exchanges": _conversations(visit.request).of(visit, choices),
        "presets": PRESETS,
        "gates": GATES,
        "upstreams": upstreams,
        "default_model": next((name for one in upstreams for name in one.models if name), ""),
        "settings": await visit.memory.settings.get(user_id=choices.user, agent_id=choices.agent or None),
        "new_session": choices.with_session(f"playground-{secrets.token_hex(3)}"),
    }
    return visit.render("playground.html", title="Playground", **values)


@pages.page(f"{PATH}/models", Verb.WRITE)
async def list_models(visit: Visit) -> Response:
    """List the models that can be asked, for the field in which one is named."""
    try:
        found = await list_upstream_models(visit.console.state.upstreams, {})
    except MemstoneError as error:
        log_server_fault(error)
        found = []
    text = visit.console.templates.get_template("playground_models.html").render(models=[one["id"] for one in found])
    return HTMLResponse(text, headers=PAGE_HEADERS)


@pages.act(f"{PATH}/say", Verb.WRITE)
async def say(visit: Visit) -> Response:
    """Say something: as a stream of what happens for a script, or all of it and then the page."""
    choices, message = _read_choices(visit, sent=True), visit.field("message").strip()
    if not message:
        raise InvalidInput("the message is empty", hint="type something that you would say to an assistant")
    if len(message) > _CHARS:
        raise InvalidInput(f"the message is longer than {_CHARS:,} characters", hint="import long texts instead")
    conversation = _conversations(visit.request).of(visit, choices)
    exchange = ChatExchange(message, choices)
    steps = ExchangeSteps(visit, exchange, conversation[-_HISTORY:])
    conversation.append(exchange)
    if "text/event-stream" in visit.request.headers.get("accept", ""):
        headers = {**PAGE_HEADERS, "x-accel-buffering": "no"}
        return StreamingResponse(steps.stream(), media_type="text/event-stream", headers=headers)
    async for _ in steps.stream():
        pass
    return Response(None, HTTPStatus.SEE_OTHER, {**PAGE_HEADERS, "location": f"{choices.address}#last"})


class ExchangeSteps:
    """Carries out one exchange: recall, answer, learn; each step is shown when it is done."""

    def __init__(self, visit: Visit, exchange: ChatExchange, before: Sequence[ChatExchange]) -> None:
        self._visit, self._exchange, self._before = visit, exchange, before
        self._memory = memory_with_preset(visit, exchange.choices.preset)

    async def stream(self) -> AsyncIterator[str]:
        """Yield server-sent events: the block, pieces of the answer, what was learned."""
        exchange = self._exchange
        await self._try(self._recall())
        yield self._part("block", "playground_block.html")
        async for piece in self._answers():
            yield f"event: piece\ndata: {json.dumps(piece)}\n\n"
        yield self._part("answer", "playground_answer.html")
        if exchange.choices.learn:
            await self._try(self._learn())
        exchange.done = True
        yield self._part("learned", "playground_learned.html")

    def _part(self, name: str, template: str) -> str:
        html = self._visit.console.templates.get_template(template).render(exchange=self._exchange)
        return f"event: {name}\ndata: {json.dumps(html)}\n\n"

    async def _try(self, work: Any) -> None:
        try:
            await work
        except MemstoneError as error:
            log_server_fault(error)
            told = error_for_caller(error)
            self._exchange.troubles.append(Trouble(told["message"], told.get("hint") or ""))

    # --- what is shown ---

    async def _recall(self) -> None:
        exchange = self._exchange
        wanted = {**exchange.choices.scope, "run_id": None}
        gate: Any = exchange.choices.gate or None
        pack = await self._memory.context(exchange.message, **wanted, budget=exchange.choices.budget, gate=gate)
        exchange.block = pack.as_dict()
        receipt = await self._memory.receipt(pack.receipt_id) if pack.receipt_id else None
        if receipt is not None:
            exchange.ms = sum(receipt["ms"].values())
            await self._explain(receipt, wanted)

    async def _explain(self, receipt: ContextReceipt, scope: dict[str, Any]) -> None:
        exchange = self._exchange
        found = await self._memory.search(exchange.message, **scope, limit=50, explain=True)
        parts = {hit["id"]: hit.get("score_parts", {}) for hit in found["results"]}
        cited = {one["memory_id"]: one for one in (exchange.block["citations"] if exchange.block else [])}
        for one in receipt["chosen"]:
            line = cited[one["id"]]["memory"] if one["id"] in cited else await self._preview(one["id"])
            always = not one["counts"]
            reason = "" if always else _explain_line(parts.get(one["id"], {}))
            exchange.lines.append(ShownLine(one["id"], line, one["layer"], one["tokens"], one["score"], reason, always))
        for omitted in receipt["dropped"][:_DROPPED]:
            exchange.dropped.append((omitted["id"], await self._preview(omitted["id"]), omitted["reason"]))

    async def _preview(self, memory_id: str) -> str:
        found = await self._visit.memory.get(memory_id)
        return "" if found is None else preview_text(found["memory"])

    # --- the answer ---

    async def _answers(self) -> AsyncIterator[str]:
        from memstone.server.console.playground_answer import stream_answer

        exchange = self._exchange
        state = self._visit.console.state
        if not state.upstreams.all:
            exchange.no_answer = Trouble(
                "no upstream is configured, so nobody answers",
                "add one under [[gateway.upstreams]] in memstone.toml, or start with `memstone serve --upstream URL`",
            )
            return
        history = [(one.message, one.answer) for one in self._before]
        try:
            async for piece in stream_answer(state, exchange.choices.model, history, exchange.message, exchange.block):
                exchange.answer += piece
                yield piece
        except MemstoneError as error:
            log_server_fault(error)
            told = error_for_caller(error)
            exchange.no_answer = Trouble(told["message"], told.get("hint") or "test it under Settings, Connections")
        if exchange.answer and exchange.block is not None and exchange.block["receipt_id"]:
            await self._try(self._memory.review.record_answer(exchange.block["receipt_id"], exchange.answer))

    # --- what is learned ---

    async def _learn(self) -> None:
        exchange, scope = self._exchange, self._exchange.choices.scope
        newest = await self._visit.caller.engine.run(list_newest_events, scope, everybody=False, limit=1)
        cursor = newest[0]["seq"] if newest else 0
        messages = [{"role": "user", "content": exchange.message}]
        if exchange.answer:
            messages.append({"role": "assistant", "content": exchange.answer})
        result = await self._memory.add(messages, **scope)
        if result["status"] == "queued":
            exchange.notes.append("Memory learns later by its settings (write.mode); the playground did it at once.")
            await self._memory.sessions.flush(**scope)
            await self._read_changes(cursor)
        _note_result(exchange, result)

    async def _read_changes(self, cursor: int) -> None:
        feed = await self._visit.memory.review.events(cursor, **self._exchange.choices.scope)
        for event in feed["results"]:
            state = event["after"] or event["before"] or {}
            if state.get("layer") != "turn":
                change = MemoryChange(event["event"], event["new_value"] or event["old_value"] or "")
                change.old, change.reason = event["old_value"] or "", event["reason"] or ""
                change.memory_id = event["memory_id"]
                self._exchange.learned.append(change)


_PARTS: Final = (
    ("semantic", "near in meaning"),
    ("keyword", "its words match"),
    ("words", "word by word"),
    ("entity", "names whom or what you ask about"),
    ("time", "is from the time you ask about"),
)


def _explain_line(parts: Any) -> str:
    """Return why a line is there, in words."""
    return "; ".join(f"{text} {parts[name]:.2f}" for name, text in _PARTS if parts.get(name))


def _note_result(exchange: ChatExchange, result: AddResult) -> None:
    """Note what came of an ``add``: what was learned or changed, and what was not and why."""
    for event in result["results"]:
        change = MemoryChange(event["event"], event["memory"], event["old_memory"] or "", event.get("reason", ""))
        change.quote = event.get("evidence", {}).get("quote", "")
        change.memory_id = event["id"]
        (exchange.not_learned if event["event"] == "NONE" else exchange.learned).append(change)
    for one in result.get("dropped", []):
        exchange.not_learned.append(MemoryChange("DROPPED", one["text"], reason=one["reason"]))
    for waiting in result.get("deferred", []):
        exchange.not_learned.append(MemoryChange("WAITING", waiting["memory"], reason=waiting["error"]["message"]))
    for proposal in result.get("review", []):
        why = "a model would end this together with others: decide by hand"
        exchange.not_learned.append(MemoryChange("REVIEW", proposal["memory"], reason=why, memory_id=proposal["id"]))
    if count := result.get("left_out"):
        exchange.notes.append(f"{count} left as it is: deleted by a person before, or known and unchanged.")
    exchange.notes += result.get("warnings", [])
    if "error" in result:
        exchange.troubles.append(Trouble(result["error"]["message"], result["error"]["hint"]))
    if result["status"] in ("paused", "disabled"):
        exchange.troubles.append(Trouble(result.get("reason", result["status"]), result.get("hint", "")))
