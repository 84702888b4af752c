"""``python -m benchmarks.quality WHAT ...``: measure how good the answers are, on files that are given by path.

Every number comes with its 95 % confidence interval. docs/quality.md says where the files come from.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.quality import (
    abstention,
    answers,
    chats,
    embedding,
    extraction,
    languages,
    peers,
    replay,
    retrieval,
    series,
    updates,
)
from benchmarks.quality import gate as gating
from benchmarks.quality.cases import FORMATS, lines, load
from benchmarks.quality.local_model import running
from benchmarks.quality.metrics import DRAWS
from benchmarks.quality.report import Origin, Section, Table, save
from memstone.errors import MemstoneError
from scripts.fetch_models import QWEN


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the result when that is asked for."""
    options = _parser().parse_args(arguments)
    began, origin = time.perf_counter(), Origin.now()
    try:
        title, facts, tables = options.measure(options)
    except (MemstoneError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    ran = {"took": f"{time.perf_counter() - began:.0f} s", "intervals": f"95 %, {DRAWS:,} bootstrap draws"}
    section = Section(title, origin.facts() | facts | ran, tables)
    sys.stdout.write(section.markdown())
    if options.save:
        _say(f"kept in benchmarks/results/{save(section, origin.name).name}")
    return 0


Measured = tuple[str, dict[str, str], list[Table]]


def _retrieval(options: argparse.Namespace) -> Measured:
    cases = load(options.format, options.data)
    experiment = retrieval.Experiment(cases, embedding.local(), options.by)
    _say(f"{len(cases)} conversations, {sum(len(case.turns) for case in cases):,} turns")
    answers = experiment.answers()
    tables = [retrieval.table(answers)]
    if options.ablate:
        tables.append(retrieval.ablation(experiment, answers, _say))
    unasked = sum(not question.wanted(options.by) for case in cases for question in case.questions)
    facts = {
        "data": f"{options.data.name}: {len(cases)} conversations, {sum(len(case.turns) for case in cases):,} turns",
        "questions": f"{len(answers):,}; {unasked} more have no evidence and are not asked",
        "found": f"{options.by}s, among {retrieval.LIMIT} memories",
    }
    return f"Retrieval: {options.data.name}, by {options.by}", facts, tables


def _gate(options: argparse.Namespace) -> Measured:
    return "Gate", {"data": ", ".join(path.name for path in options.messages)}, gating.tables(options.messages)


def _languages(_: argparse.Namespace) -> Measured:
    facts = {
        "data": f"{languages.FILE.name}: 20 things said and 20 questions in each language",
        "stored": "with infer=False, one person for each language",
    }
    return "Languages", facts, languages.tables(_say)


def _abstention(options: argparse.Namespace) -> Measured:
    files = abstention.Files(options.memories, options.answerable, options.unrelated)
    data = ", ".join(path.name for path in (files.memories, files.answerable, files.unrelated))
    facts = {"data": data, "found": f"any answer among {abstention.LIMIT} memories"}
    return "Abstention", facts, [abstention.table(files, embedding.local())]


def _updates(options: argparse.Namespace) -> Measured:
    table = updates.table(lines(options.data), embedding.local())
    return f"Updates: {options.data.name}", {"data": options.data.name, "learned by": "the curator"}, [table]


def _extraction(options: argparse.Namespace) -> Measured:
    table = extraction.table(options.data, options.out, embedding.local())
    return f"Extraction: {options.data.name}", {"data": options.data.name, "learned by": "the curator"}, [table]


def _recorded(options: argparse.Namespace) -> Measured:
    played = replay.play_all(options.data)
    facts = {"data": f"{len(played)} people with recorded answers", "learned by": "a strong model's recorded answers"}
    return "Recorded answers", facts, replay.tables(played)


def _series(options: argparse.Namespace) -> Measured:
    facts = {"data": f"{len(options.data)} authors", "learned by": "the curator", "embedder": "built in"}
    return "Labelled series of messages", facts, series.tables(options.data)


def _chats(options: argparse.Namespace) -> Measured:
    found = chats.tables(options.data, peers.mem0 if options.peer else None, _say, options.embedder)
    embedder = "built in" if options.embedder == "local" else options.embedder
    facts = {"data": f"{len(options.data)} people", "learned by": "the curator", "embedder": embedder}
    return "Chats of a person with an assistant", facts, found


def _answers(options: argparse.Namespace) -> Measured:
    paths = sorted(options.data.glob("*.chat"))
    with running("qwen2.5-coder-1.5b", QWEN) as model:
        outcome = answers.measure(model, paths, peers.mem0(), _say)
    facts = {
        "data": f"{len(paths)} people, {len(outcome.questions)} questions, asked in another session than told",
        "learned by": "rules, default settings",
        "answered by": f"{model.name} on this machine, temperature 0, at most {answers.MOST_TOKENS} tokens",
    }
    return "Answers of a real model", facts, outcome.tables()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.quality", description=__doc__)
    kinds = parser.add_subparsers(required=True, metavar="WHAT")
    found = _kind(kinds, "retrieval", _retrieval, "whether the turns that answer a question are found")
    found.add_argument("--format", choices=FORMATS, required=True)
    found.add_argument("--data", type=Path, required=True, help="the JSON file")
    found.add_argument("--by", choices=("turn", "session"), default="turn", help="what should be found")
    found.add_argument("--ablate", action="store_true", help="also with one ingredient left out at a time")
    talk = _kind(kinds, "chats", _chats, "whether what a person told an assistant reaches the prompt later")
    talk.add_argument(
        "--data", type=Path, nargs="+", required=True, help="files of people, see benchmarks/quality/chats.py"
    )
    talk.add_argument("--embedder", default="local", help="which embedder of this process, such as static")
    talk.add_argument("--peer", action="store_true", help="also with mem0, which is installed for this")
    answer = _kind(kinds, "series", _series, "what is learned, changed and missed of messages that are labelled")
    answer.add_argument("--data", type=Path, nargs="+", required=True, help="JSONL, see benchmarks/quality/series.py")
    message = _kind(kinds, "answers", _answers, "whether a real model answers with what was said in another session")
    message.add_argument("--data", type=Path, default=answers.PEOPLE, help="a folder of people with questions")
    gate = _kind(kinds, "gate", _gate, "whether memory is looked at for the messages that need it")
    gate.add_argument("--messages", type=Path, nargs="+", required=True, help="JSONL: text, needs_memory, kind")
    _kind(kinds, "languages", _languages, "whether questions in other languages than English find their answers")
    silent = _kind(kinds, "abstention", _abstention, "whether nothing is shown where memory has no answer")
    silent.add_argument("--memories", type=Path, required=True, help="JSONL: id, text")
    silent.add_argument("--answerable", type=Path, required=True, help="JSONL: text, answers (ids of memories)")
    silent.add_argument("--unrelated", type=Path, required=True, help="JSONL: text")
    changed = _kind(kinds, "updates", _updates, "what becomes of known facts when something new is said")
    changed.add_argument("--data", type=Path, required=True, help="JSONL: existing, new_fact, new_event, label, target")
    learned = _kind(kinds, "extraction", _extraction, "what the rules learn from conversations")
    learned.add_argument("--data", type=Path, required=True, help="conversations in LoCoMo's format")
    learned.add_argument("--out", type=Path, help="a folder for the facts themselves")
    played = _kind(kinds, "recorded", _recorded, "what is stored of a strong model's recorded answers")
    played.add_argument("--data", type=Path, default=replay.RECORDED, help="a folder of recordings")
    return parser


def _kind(
    kinds: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    measure: Callable[[argparse.Namespace], Measured],
    text: str,
) -> argparse.ArgumentParser:
    made = kinds.add_parser(name, help=text, description=f"Measure {text}.")
    made.add_argument("--save", action="store_true", help="keep the result under benchmarks/results")
    made.set_defaults(measure=measure)
    return made


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
