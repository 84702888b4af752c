"""Bring your ChatGPT history along: conversations become turns you can search, and facts are learned from them.

    pip install memstone
    python examples/import_chatgpt.py chatgpt-export.zip "Where did I want to travel?"

You get the export in ChatGPT under Settings, Data controls. The archive or its conversations.json will do.
"""

import sys

from memstone import Memory

USER = "me"


def main(path: str, question: str) -> None:
    """Import an export that is your own, learn from it, and ask a question."""
    with Memory() as memory:
        # `trusted` says that it is your own data; without it, facts wait until somebody approves them.
        answer = memory.admin.import_from(path, user_id=USER, trusted=True)
        print(
            f"{answer['format']}: {answer['turns']} turns and {answer['facts']} facts, {answer['known']} known before"
        )
        memory.sessions.flush(user_id=USER)  # learn now what would otherwise be learned in the background

        print("about you:")
        for fact in memory.get_all(user_id=USER)["results"]:
            print(f"  {fact['memory']}")

        print(question)
        for hit in memory.search(question, user_id=USER, limit=3)["results"]:
            print(f"  {hit['score']:.2f}  {hit['memory']}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "What do I like?")
