"""A support agent: it remembers each customer, and what it learned itself helps all of them.

pip install memstone
python examples/support_agent.py
"""

from memstone import Memory

AGENT = "support"


def main() -> None:
    """Help one customer, keep the solution as the agent's own knowledge, and use it for the next customer."""
    with Memory({"store": {"url": "sqlite:///support.db"}}) as memory:
        talk = [
            {"role": "user", "content": "I'm Ann. My router is a Fjord 3000, and it drops the connection every night."},
            {"role": "assistant", "content": "Please turn off the power saving mode."},
            {"role": "user", "content": "That solved it, thank you!"},
        ]
        memory.add(talk, user_id="ann", agent_id=AGENT)

        # The agent's own knowledge belongs to the agent, not to a customer.
        memory.add(
            "Fjord 3000 drops the connection at night: turn off its power saving mode.",
            agent_id=AGENT,
            infer=False,
            kind="procedural",
            metadata={"product": "Fjord 3000", "ticket": 4711},
        )

        question = "My Fjord 3000 loses the connection at night"
        tips = memory.search(question, agent_id=AGENT, filters={"product": "Fjord 3000"}, limit=1)["results"]
        print("known solution:", tips[0]["memory"])

        customers = {"ann": memory.get_all(user_id="ann")["results"], "ben": memory.get_all(user_id="ben")["results"]}
        for name, facts in customers.items():
            print(f"about {name}:", *(fact["memory"] for fact in facts) if facts else ["nothing"], sep="\n  ")


if __name__ == "__main__":
    main()
