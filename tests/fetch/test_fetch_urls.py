"""What a URL must be before anything is dialled for it: I7, cases n07 and n17."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.errors import AddressRefused, ManusfsError, UsageError
from manusfs.fetch import Fetcher
from manusfs.fetch.urls import brief, checked

Make = Callable[..., Fetcher]

REFUSED = [
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://127.1/",
    "http://0/",
    "http://[::1]/",
    "http://[::ffff:7f00:1]/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://example.com@127.0.0.1/",
    "http://127.0.0.1@example.com/",
    "http://example.com\\@127.0.0.1/",
    "http://127\u30020\u30020\u30021/",
    "HTTP://127.0.0.1/",
    " http://127.0.0.1/ ",
    "http://127.0.0.1:22/",
    "http://169.254.169.254/latest/meta-data/",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "ftp://example.com/",
    "ws://127.0.0.1/",
    "javascript:alert(1)",
    "mailto:a@b.example",
]
MALFORMED = [
    "http://0177.0.0.1/",
    "",
    " ",
    "example.com/page",
    "localhost:8000/x",
    "//127.0.0.1/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "http:///127.0.0.1/",
    "http://127.0.0.1:999999/",
    "http://example.com:0/",
    "http://127.0.0.1:80:80/",
    "http://[::1/",
    "http://[v1.abc]/",
    "http://[fe80::1%25lo]/",
    "http://127.0.0.1 /",
    "http://127.0.0.1\\.example.com/",
    "http://example.com%00.127.0.0.1/",
    "http://exa\tmple.com/",
    "http://ex%41mple.com/",
    "http://\u202e127.0.0.1/",
    "http://" + "a" * 70_000,
]


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_of_this_machine_or_a_strange_scheme_is_refused(url: str, dialled: list[object], fetcher: Make) -> None:
    """I7, n17: refused, and nothing was dialled."""
    with pytest.raises(AddressRefused) as error:
        fetcher(allow_hosts=()).fetch(url)
    assert error.value.hint and not dialled


@pytest.mark.parametrize("url", MALFORMED)
def test_a_malformed_url_is_a_clear_error(url: str, dialled: list[object], fetcher: Make) -> None:
    """n17: a clear error, and nothing was dialled, even where this machine is allowed."""
    with pytest.raises(UsageError) as error:
        fetcher(allow_hosts=("127.0.0.0/8", "localhost")).fetch(url)
    assert error.value.hint and len(str(error.value)) < 500 and not dialled


def test_a_password_is_neither_sent_nor_told() -> None:
    """I7: the message names the address without it."""
    with pytest.raises(AddressRefused) as error:
        checked("https://anna:secret@example.org/page")
    assert "secret" not in str(error.value) and "anna" not in str(error.value)


def test_the_fragment_is_dropped_and_the_rest_kept() -> None:
    """A fragment is for the reader's program, not for the server."""
    assert str(checked("https://EXAMPLE.org:443/a b?q=1#part")) == "https://example.org/a%20b?q=1"


@given(st.text(max_size=80))
def test_any_text_is_a_url_or_a_clear_error(text: str) -> None:
    """I9: no other exception escapes, and what is told about it is one line."""
    for url in (text, f"http://{text}", f"http://example.org/{text}"):
        try:
            parsed = checked(url)
        except ManusfsError as error:
            assert "\n" not in brief(url) and error.hint
        else:
            assert parsed.scheme in ("http", "https") and parsed.host and not parsed.userinfo


def test_the_fetcher_is_exported() -> None:
    """House: the room's names are there."""
    import manusfs.fetch as room

    assert all(getattr(room, name) for name in room.__all__) and room.Fetcher is Fetcher
