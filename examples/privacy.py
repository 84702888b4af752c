"""What a person may ask for: see everything, take it along, correct it, and have it erased for good.

pip install memstone
python examples/privacy.py
"""

import json
from pathlib import Path

from memstone import Memory


def main() -> None:
    """Answer each of these requests for Ann, and prove the last one."""
    with Memory({"store": {"url": "sqlite:///privacy.db"}}) as memory:
        memory.add("I live in Oslo, and I'm allergic to hazelnuts.", user_id="ann")
        memory.add("I live in Rome.", user_id="ben")

        # See it: every fact, with the words it came from.
        for fact in memory.get_all(user_id="ann")["results"]:
            print(f'{fact["memory"]}  (from: "{fact["evidence"]["quote"]}")')

        # Take it along: every version, turn and event, as JSON lines.
        lines = list(memory.export(user_id="ann"))
        Path("ann.jsonl").write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
        print(f"exported {len(lines)} lines, Ben in them: {'Rome' in Path('ann.jsonl').read_text('utf-8')}")

        # Correct it: the old version stays in the history until it is erased.
        home = next(fact for fact in memory.get_all(user_id="ann")["results"] if "Oslo" in fact["memory"])
        print("corrected:", memory.update(home["id"], "User lives in Bergen.")["memory"])

        # Erase it: from the store, its indexes and log. The report proves it and holds none of the content.
        report = memory.admin.erase(user_id="ann")
        print("erased:", report["complete"], "and verified:", memory.admin.verify_erasure(report)["ok"])
        left = Path("privacy.db").read_bytes()
        print("words left in the file:", [word for word in ("Oslo", "Bergen", "hazelnuts") if word.encode() in left])
        print("Ben still there:", [one["memory"] for one in memory.get_all(user_id="ben")["results"]])


if __name__ == "__main__":
    main()
