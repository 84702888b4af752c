from __future__ import annotations

import builtins
import re
from collections.abc import Iterator

import pytest

import memstone
from memstone import errors
from memstone.errors import MemstoneError


def tree(cls: type[MemstoneError] = MemstoneError) -> Iterator[type[MemstoneError]]:
    yield cls
    for below in cls.__subclasses__():
        yield from tree(below)


OURS = sorted({cls for cls in tree() if cls.__module__ == "memstone.errors"}, key=lambda cls: cls.__name__)


@pytest.mark.req("C-52")
@pytest.mark.parametrize("cls", OURS, ids=lambda cls: cls.__name__)
def test_every_error_has_a_code_of_its_own_a_message_and_a_hint(cls: type[MemstoneError]) -> None:
    error = cls("it went wrong", hint="do this")
    assert re.fullmatch(r"[a-z_]+", cls.code)
    assert str(error) == "it went wrong (do this)"
    assert error.as_dict() == {
        "code": cls.code,
        "message": "it went wrong",
        "hint": "do this",
        "retryable": cls.retryable,
    }
    assert cls.__doc__
    assert isinstance(error, Exception)


@pytest.mark.req("C-52")
def test_codes_are_unique() -> None:
    codes = [cls.code for cls in OURS]
    assert len(codes) == len(set(codes))


@pytest.mark.req("C-52")
def test_the_tree_drawn_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"^[ \u2502]*[\u251c\u2514]\u2500 (\w+)", errors.__doc__ or "", re.MULTILINE)
    assert sorted(drawn) == sorted(cls.__name__ for cls in OURS if cls is not MemstoneError)


@pytest.mark.req("C-52")
def test_the_names_callers_catch_are_public() -> None:
    for name in ("MemstoneError", "ScopeError", "VectorStoreError", "LLMError", "EmbeddingError", "NotFoundError"):
        assert getattr(memstone, name) is getattr(errors, name)
        assert name in memstone.__all__
        assert issubclass(getattr(memstone, name), MemstoneError)


@pytest.mark.req("C-52")
def test_the_alias_of_the_base_shadows_nothing() -> None:
    assert errors.MemoryError is MemstoneError
    assert "MemoryError" not in memstone.__all__
    assert not hasattr(memstone, "MemoryError")
    assert not issubclass(MemstoneError, builtins.MemoryError)


@pytest.mark.parametrize(
    ("cls", "known"),
    [
        (errors.UsageError, ValueError),
        (errors.NotFoundError, KeyError),
        (errors.BackendTimeout, TimeoutError),
        (errors.MissingExtra, ImportError),
    ],
)
def test_callers_who_know_nothing_of_memstone_catch_what_they_expect(
    cls: type[MemstoneError], known: type[Exception]
) -> None:
    with pytest.raises(known):
        raise cls("it went wrong")
    assert "KeyError" not in str(cls("it went wrong"))
    assert str(cls("it went wrong", hint="")) == "it went wrong", "not in quotes, as a KeyError would show it"


def test_what_may_be_tried_again_says_so() -> None:
    again = {cls.__name__ for cls in OURS if cls.retryable}
    ours = {"StorageBusy", "TooManyRequests"}
    assert again == {"BackendUnavailable", "LlmUnavailable", "BackendTimeout", "RateLimited"} | ours
    assert errors.RateLimited("slow down", retry_after=2.5).retry_after == 2.5
    assert errors.BackendRejected("no", kind="embedder", name="openai").name == "openai"
