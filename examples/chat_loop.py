"""A chat that remembers: any OpenAI-compatible model, with Memstone beside it.

pip install memstone openai
OPENAI_API_KEY=... python examples/chat_loop.py
OPENAI_BASE_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 python examples/chat_loop.py   # Ollama
"""

import os
import sys
from typing import Any

from openai import OpenAI

from memstone import Memory, inject

MODEL = os.environ.get("MODEL", "gpt-4o-mini")
USER = os.environ.get("USER_ID", "me")


def main() -> None:
    """Read messages, answer each with what is known, and learn from what was said."""
    model, memory = OpenAI(), Memory()
    print("Write a message; Ctrl-D ends the chat.", file=sys.stderr)
    chat = [{"role": "system", "content": "You are a helpful assistant."}]
    for line in sys.stdin:
        if not line.strip():
            continue
        message = {"role": "user", "content": line.strip()}
        known = memory.context(message["content"], user_id=USER)  # what is worth knowing for this message
        messages: Any = inject([*chat, message], known)
        answer = model.chat.completions.create(model=MODEL, messages=messages)
        reply = {"role": "assistant", "content": answer.choices[0].message.content or ""}
        print(reply["content"])
        learned = memory.add([message, reply], user_id=USER)
        for change in learned["results"]:
            print(f"  [{change['event']}] {change['memory']}")
        chat += [message, reply]
    memory.close()


if __name__ == "__main__":
    main()
