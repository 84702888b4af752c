"""Addresses that somebody stores must not lead to what only this machine reaches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response

from memstone.config import Settings
from memstone.errors import BackendRejected, BackendUnavailable, InvalidInput
from memstone.server.urls import SafeUrl, UrlGuard, fetch_url
from tests.server.upstream import served

PUBLIC = "93.184.216.34"


def public(_host: str, _port: int) -> list[str]:
    return [PUBLIC]


def refused(url: Any, *, private: tuple[str, ...] = (), resolver: Any = public) -> str:
    with pytest.raises(InvalidInput) as caught:
        UrlGuard(private, resolver).resolve_url(url)
    return caught.value.message


@pytest.mark.req("N-7")
@pytest.mark.parametrize(
    "url",
    [
        "ftp://a.example",
        "file:///etc/passwd",
        "gopher://a.example",
        "a.example",
        "//a.example",
        "javascript:x",
        "",
        "http:",
    ],
)
def test_only_http_is_spoken(url: str) -> None:
    refused(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1",
        "http://10.1.2.3",
        "http://172.16.0.1",
        "http://192.168.1.1:6333",
        "http://169.254.169.254/latest/meta-data",
        "http://100.100.100.200",
        "http://168.63.129.16",
        "http://192.0.0.192",
        "http://0.0.0.0",
        "http://224.0.0.1",
        "http://255.255.255.255",
        "http://198.18.0.1",
        "http://[::1]",
        "http://[::]",
        "http://[fe80::1]",
        "http://[fe80::1%25eth0]",
        "http://[fd00:ec2::254]",
        "http://[fc00::1]",
        "http://[fec0::1]",
        "http://[ff02::1]",
    ],
)
def test_addresses_inside_are_refused(url: str) -> None:
    assert "not a public address" in refused(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://[::ffff:127.0.0.1]",
        "http://[::ffff:7f00:1]",
        "http://[::ffff:a9fe:a9fe]",
        "http://[::127.0.0.1]",
        "http://[64:ff9b::7f00:1]",
        "http://[64:ff9b::a9fe:a9fe]",
        "http://[64:ff9b:1::a00:1]",
        "http://[2002:7f00:1::]",
        "http://[2001:0:7f00:1::]",
        "http://[::ffff:0:7f00:1]",
    ],
)
def test_an_address_inside_is_not_hidden_in_a_longer_one(url: str) -> None:
    assert "not a public address" in refused(url)


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "017700000001",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "127.1",
        "127.0.1",
        "1",
        "0",
        "256.256.256.256",
        "1.2.3.4.5",
        "127.0.0.1.",
        "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
        "①②⑦.⓪.⓪.①",
    ],
)
def test_numbers_in_other_forms_are_refused(host: str) -> None:
    refused(f"http://{host}/")


@pytest.mark.parametrize(
    "url",
    [
        "http://user@a.example",
        "http://user:secret@a.example",
        "http://a.example@127.0.0.1",
        "http://a.example:80@127.0.0.1",
        "http://a.example\\@127.0.0.1",
        "http://127.0.0.1\\@a.example",
        "http://a.example#@127.0.0.1",
        "http://a.example?@127.0.0.1",
        "http://a.example/?x=1",
        "http://a.example/#x",
        "http://a.example\t",
        "http://a.exa\nmple",
        "http://a.exam ple",
        "http://a.example\x00.evil.example",
        "http://[::1",
        "http://[v1.x]",
        "http://a..example",
        "http://-a.example",
        "http://a.example:0",
        "http://a.example:99999",
        "http://a.example:x",
        "http://a%2eexample",
        "http://" + "a" * 300 + ".example",
        "http://" + "a.example/" * 400,
    ],
)
def test_an_address_that_can_be_read_in_two_ways_is_refused(url: str) -> None:
    refused(url)


def test_a_name_that_stands_for_a_private_machine_is_refused() -> None:
    assert "not a public address" in refused("http://a.example", resolver=lambda _host, _port: ["10.0.0.1"])


def test_one_private_address_among_many_is_enough_to_refuse() -> None:
    refused("http://a.example", resolver=lambda _host, _port: [PUBLIC, "::1"])
    refused("http://a.example", resolver=lambda _host, _port: [PUBLIC, "::ffff:10.0.0.1"])


def test_a_name_that_stands_for_nothing_is_refused() -> None:
    def unknown(_host: str, _port: int) -> list[str]:
        raise OSError

    assert "cannot be resolved" in refused("http://a.example", resolver=unknown)
    assert "cannot be resolved" in refused("http://a.example", resolver=lambda _host, _port: [])


def test_the_error_never_repeats_what_may_be_a_secret() -> None:
    assert "hunter2" not in refused("http://user:hunter2@a.example")


def test_a_public_address_is_taken_in_its_normal_form() -> None:
    guard = UrlGuard((), public)
    assert guard.resolve_url("HTTPS://A.Example.:8443/v1/") == SafeUrl("https", "a.example", 8443, "/v1", PUBLIC)
    assert guard.resolve_url("http://bücher.example").host == "xn--bcher-kva.example"
    assert guard.resolve_url("http://8.8.8.8").pinned_url == "http://8.8.8.8"
    assert guard.resolve_url("https://[2606:4700:4700::1111]").pinned_url == "https://[2606:4700:4700::1111]"
    assert guard.resolve_url("https://a.example/v1").text == "https://a.example/v1"


@pytest.mark.parametrize(
    ("listed", "url", "address"),
    [
        ("10.0.0.5", "http://10.0.0.5:6333", "10.0.0.5"),
        ("10.0.0.5:6333", "http://10.0.0.5:6333", "10.0.0.5"),
        ("http://qdrant.internal:6333", "http://qdrant.internal:6333", "10.0.0.5"),
        ("qdrant.internal", "http://qdrant.internal:1", "10.0.0.5"),
        ("Qdrant.Internal", "http://qdrant.internal.", "127.0.0.1"),
        ("::1", "http://[::1]:6333", "::1"),
        ("[fd00::5]:6333", "http://[fd00::5]:6333", "fd00::5"),
    ],
)
def test_the_configuration_file_may_name_hosts_inside(listed: str, url: str, address: str) -> None:
    assert UrlGuard((listed,), lambda _host, _port: [address]).resolve_url(url).address == address


def test_what_is_listed_opens_nothing_else() -> None:
    private = ("qdrant.internal:6333", "10.0.0.5:6333")
    inside: dict[str, Any] = {"private": private, "resolver": lambda _host, _port: ["10.0.0.9"]}
    refused("http://qdrant.internal:22", **inside)
    refused("http://10.0.0.5:22", **inside)
    refused("http://10.0.0.6:6333", **inside)
    refused("http://sub.qdrant.internal:6333", **inside)
    refused("http://qdrant.internal.evil.example:6333", **inside)


def test_a_listed_name_never_stands_for_the_credentials_of_a_cloud() -> None:
    for address in ("169.254.169.254", "::ffff:169.254.169.254", "168.63.129.16", "fd00:ec2::254", "0.0.0.0"):  # noqa: S104
        refused("http://a.internal", private=("a.internal",), resolver=lambda _host, _port, to=address: [to])
    literal = UrlGuard(("169.254.169.254",), public).resolve_url("http://169.254.169.254")  # said in so many words
    assert literal.address == "169.254.169.254"


def test_private_hosts_come_from_the_configuration() -> None:
    settings = Settings.of({"server": {"private_urls": ["10.0.0.5"]}})
    assert UrlGuard(settings.server.private_urls).resolve_url("http://10.0.0.5").address == "10.0.0.5"


class Inner:
    """A machine inside, which must not be asked for anything but what was meant."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.app = FastAPI()
        self.app.get("/{path:path}")(self._any)

    async def _any(self, request: Request, path: str) -> Response:
        self.asked.append((path, request.headers["host"]))
        if path == "large":
            return PlainTextResponse("x" * (5 * 1024 * 1024))
        return RedirectResponse("/secret") if path == "away" else PlainTextResponse("here")


@pytest.fixture(scope="module")
def inner() -> Iterator[tuple[Inner, int]]:
    service = Inner()
    with served(service.app) as url:
        yield service, int(url.rpartition(":")[2])


@pytest.fixture
def asked(inner: tuple[Inner, int]) -> tuple[Inner, int]:
    inner[0].asked.clear()
    return inner


def test_a_redirect_is_not_followed(asked: tuple[Inner, int]) -> None:
    service, port = asked
    url = UrlGuard(("a.internal",), lambda _host, _port: ["127.0.0.1"]).resolve_url(f"http://a.internal:{port}")
    with pytest.raises(BackendRejected, match="redirects are not followed"):
        asyncio.run(fetch_url(url, path="/away"))
    assert [path for path, _ in service.asked] == ["away"]


def test_a_name_that_answers_differently_a_moment_later_changes_nothing(asked: tuple[Inner, int]) -> None:
    """The name is asked for once; what is connected to is what was checked, under the name that was given."""
    service, port = asked
    answers = iter(["127.0.0.1", "169.254.169.254", "10.0.0.1"])
    times: list[str] = []

    def rebinding(host: str, _port: int) -> list[str]:
        times.append(host)
        return [next(answers)]

    url = UrlGuard(("a.internal",), rebinding).resolve_url(f"http://a.internal:{port}")
    for _ in range(2):
        assert asyncio.run(fetch_url(url, path="/x")).text == "here"
    assert times == ["a.internal"]
    assert service.asked == [("x", f"a.internal:{port}")] * 2


def test_a_name_that_turns_private_after_it_was_checked_is_not_asked_for_again() -> None:
    sent: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200, text="outside")

    answers = iter([[PUBLIC], ["127.0.0.1"]])
    url = UrlGuard((), lambda _host, _port: next(answers)).resolve_url("https://a.example/v1")
    got = asyncio.run(fetch_url(url, path="/x", transport=httpx2.MockTransport(answer)))
    assert got.text == "outside"
    assert (sent[0].url.host, sent[0].url.path, sent[0].headers["host"]) == (PUBLIC, "/v1/x", "a.example")
    assert sent[0].extensions["sni_hostname"] == "a.example"  # whose certificate is asked for


def test_a_proxy_of_the_environment_is_not_used(asked: tuple[Inner, int], monkeypatch: pytest.MonkeyPatch) -> None:
    service, port = asked
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{port}")
    closed = SafeUrl("http", "a.example", 9, "", "127.0.0.1")
    with pytest.raises(BackendUnavailable):
        asyncio.run(fetch_url(closed, path="/x", timeout=120))
    assert service.asked == []


def test_an_answer_without_end_is_cut_off(asked: tuple[Inner, int]) -> None:
    _, port = asked
    url = UrlGuard(("a.internal",), lambda _host, _port: ["127.0.0.1"]).resolve_url(f"http://a.internal:{port}")
    with pytest.raises(BackendRejected, match="too large"):
        asyncio.run(fetch_url(url, path="/large"))
