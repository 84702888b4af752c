"""A coding assistant: what one developer says about a project, everybody in the project's assistant knows.

pip install memstone
python examples/coding_assistant.py
"""

from memstone import Memory

PROJECT = "apollo"


def main() -> None:
    """Tell the assistant about a project, change a decision, and see what it is shown for the next task."""
    with Memory({"store": {"url": "sqlite:///coding.db"}}) as memory:
        # Conventions are stored as they are, for the project: they are rules, not talk to learn from.
        rules = {
            "tests": "Run the tests with `make test`.",
            "style": "Functions are annotated, lines have at most 100 characters.",
            "database": "The service uses SQLite.",
        }
        for key, text in rules.items():
            memory.add(text, user_id=f"project:{PROJECT}", infer=False, key=key, kind="procedural")

        # A decision changes. The same key makes it a new version, and the old one stays in the history.
        changed = memory.add(
            "The service uses PostgreSQL 17.", user_id=f"project:{PROJECT}", infer=False, key="database"
        )["results"][0]
        print("changed:", changed["event"], [one["new_value"] for one in memory.history(changed["id"])])

        # What Ann says about herself stays hers; Carol, who is new, is shown what the project knows.
        memory.add("I prefer short commit messages.", user_id="ann")
        task = "Write a migration for the database of our service"
        for developer in ("ann", "carol"):
            block = memory.context(task, user_id=developer, project_id=PROJECT, gate="always")
            print(f"{developer} is shown:", *(one.memory for one in block.citations), sep="\n  ")


if __name__ == "__main__":
    main()
