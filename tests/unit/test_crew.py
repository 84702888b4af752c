from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memstone.adapters.embed.onnx_model import Crew


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_results_come_in_the_order_of_the_pieces(size: int, count: int) -> None:
    assert Crew(size).map(lambda piece: piece * piece, range(count)) == [piece * piece for piece in range(count)]


def test_as_many_work_at_once_as_the_crew_has() -> None:
    together = threading.Barrier(3)
    who = Crew(3).map(lambda _: (together.wait(timeout=120), threading.current_thread().name)[1], range(3))

    assert len(set(who)) == 3
    assert threading.current_thread().name in who


def test_one_piece_stays_with_the_caller() -> None:
    assert Crew(4).map(lambda _: threading.current_thread(), ["piece"]) == [threading.current_thread()]


def test_a_caller_does_not_wait_for_threads_that_are_busy_elsewhere() -> None:
    crew = Crew(2)
    begun, release = threading.Barrier(3), threading.Event()

    def hold(_: int) -> bool:
        begun.wait(timeout=120)
        return release.wait(timeout=120)

    with ThreadPoolExecutor(1) as other:
        current = other.submit(crew.map, hold, range(2))
        begun.wait(timeout=120)
        assert crew.map(lambda piece: -piece, range(9)) == [-piece for piece in range(9)]
        release.set()
        assert current.result(timeout=120) == [True, True]


@pytest.mark.parametrize("failing", range(4))
def test_a_failure_reaches_the_caller_whoever_had_the_piece(failing: int) -> None:
    def work(piece: int) -> int:
        if piece == failing:
            raise IndexError("no such thing")
        return piece

    crew = Crew(3)
    with pytest.raises(IndexError, match="no such thing"):
        crew.map(work, range(4))
    assert crew.map(abs, range(4)) == [0, 1, 2, 3]


def test_after_a_failure_no_further_piece_is_begun() -> None:
    begun: list[int] = []

    def work(piece: int) -> None:
        begun.append(piece)
        raise ValueError(piece)

    with pytest.raises(ValueError, match=r"\d"):
        Crew(2).map(work, range(500))
    assert len(begun) <= 2
