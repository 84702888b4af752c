"""A language model behind llama.cpp's own server, on this machine only: ``python llama_server.py weights.gguf``.

A program of its own, so that what goes wrong inside compiled code does not take the tests along. It prints its address
when it is ready, and ends when its standard input does.
"""

from __future__ import annotations

import os
import sys

import xllamacpp

CONTEXT_TOKENS = 8192


def main(weights: str) -> None:
    """Serve until nobody is there any more."""
    settings = xllamacpp.CommonParams()
    settings.model.path = weights
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    # Its threads wait for one another without letting go of a processor: with as many as there are, on a machine that
    # does something else besides, each word takes as long as the slowest of them.
    threads = max(1, (os.cpu_count() or 2) // 2)
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0  # any that is free
    settings.ui = False
    server = xllamacpp.Server(settings)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1])
