from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstone.engine.store.embedding import Cache


class _Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.req("O-96")
def test_what_was_not_used_for_longest_goes_first() -> None:
    cache = Cache[int](entries=2)
    cache.set("a", 1)
    cache.set("b", 2)
    assert cache.get("a") == 1
    cache.set("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]
    cache.set("a", 4)
    cache.set("d", 5)
    assert [cache.get(key) for key in "acd"] == [4, None, 5]


@pytest.mark.req("O-96")
def test_an_entry_lives_for_five_minutes_or_as_long_as_it_was_given() -> None:
    time = _Time()
    cache = Cache[str](now=time)
    cache.set("usual", "x")
    cache.set("short", "y", seconds=1.0)
    cache.set("long", "z", seconds=1_000.0)
    time.now = 1.5
    assert (cache.get("usual"), cache.get("short"), cache.get("long")) == ("x", None, "z")
    time.now = 300.5
    assert (cache.get("usual"), cache.get("long")) == (None, "z")
    assert cache.stats() == {"size": 1, "max_size": 1_000, "hits": 3, "misses": 2}


@pytest.mark.req("O-96")
def test_a_pattern_names_what_is_forgotten() -> None:
    cache = Cache[int]()
    for key in ("alice:1", "alice:2", "bob:1", "[x]"):
        cache.set(key, 0)
    assert cache.invalidate("alice:*") == 2
    assert cache.invalidate("alice:*") == 0
    assert cache.invalidate("b?b:1") == 1
    assert cache.stats()["size"] == 1
    cache.clear()
    assert cache.stats() == {"size": 0, "max_size": 1_000, "hits": 0, "misses": 0}


@given(st.lists(st.tuples(st.sampled_from("gsi"), st.sampled_from("abcdef")), max_size=60), st.integers(0, 4))
def test_it_holds_what_a_plain_list_of_the_last_used_would(steps: list[tuple[str, str]], most: int) -> None:
    cache, used = Cache[str](entries=most), list[str]()
    for step, key in steps:
        if step == "g":
            assert cache.get(key) == (key if key in used else None)
            if key in used:
                used.append(used.pop(used.index(key)))
        elif step == "s":
            cache.set(key, key)
            used = [*[one for one in used if one != key], key][-most:] if most else []
        else:
            assert cache.invalidate(key) == (key in used)
            used = [one for one in used if one != key]
    assert cache.stats()["size"] == len(used)
