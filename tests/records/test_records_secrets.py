"""Secrets are masked in what is shown, nothing else is, and what is stored and named stays apart."""

from __future__ import annotations

import string
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.records import Source, observation_id, secrets

SECRET = st.text(string.ascii_letters + string.digits + "-_.~", min_size=8, max_size=40).map(lambda text: f"Zq9{text}Q")
NAMES = (
    "token", "access_token", "api_key", "apikey", "API-Key", "client_secret", "password", "passwd", "pwd", "jwt",
    "Signature", "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "X-Goog-Signature", "AWSAccessKeyId",
    "subscription-key", "id_token", "refresh_token", "auth_token", "authorization", "sessionToken", "private_token",
    "authkey", "app_key", "appsecret", "pw", "passcode", "otp", "resetPasswordToken", "apitoken", "user_key",
    "PHPSESSID", "client_assertion", "SAMLResponse", "oauth_verifier", "signing_key", "license_key", "bearer",
)  # fmt: skip
PLAIN = st.text(string.ascii_letters + string.digits + "/-_. ,:%+", max_size=30)


@given(SECRET, st.sampled_from(NAMES), PLAIN, PLAIN, st.sampled_from(["{}", "see <{}>.", '"{}"', "({})", "a\n{}\nb"]))
def test_no_credential_of_a_url_is_shown(secret: str, name: str, path: str, other: str, frame: str) -> None:
    """Promise 12: by name, in a query, behind other parameters, in any case, percent-encoded, in a fragment."""
    told = f"{quote(path)}?a={quote(other)}&{name}={secret}&b=1"
    for url in (
        f"https://h.example/{told}",
        f"https://h.example/{told.replace('&', '&amp;')}",
        f"HTTPS://h.example/{told.replace(name, name.upper())}",
        f"https://h.example/x?{quote(name, safe='').replace('e', '%65')}={secret}",
        f"https://h.example/x?next={quote(f'https://other.example/?{name}={secret}', safe='')}",
        f"https://h.example/x?next={quote(quote(f'https://other.example/?{name}={secret}', safe=''), safe='')}",
        f"https://h.example/x#{name}={secret}",
        f"https://h.example/x?a=1;{name}={secret}",
        f"https://h.example/x?user[{name}]={secret}",
        f"https://h.example/x?{name}%3D{secret}",
        f"https://h.example/x?a%26{name}={secret}",
        f"https://h.example/x;jsessionid={secret}/y",
        f"https://user:{secret}@h.example/x",
        f"https://{secret}@h.example/",
        f"ftp://u@{secret}@h.example/",
    ):
        shown = secrets.text(frame.format(url))
        assert secret not in shown, url
        assert secret not in secrets.url(url), url
        assert secrets.text(shown) == shown and secrets.url(secrets.url(url)) == secrets.url(url)
        assert secrets.is_masked(shown)


@given(SECRET, st.sampled_from(["sig", "key", "code", "sid", "auth", "hmac", "appid", "sas", "csrf", "room_key"]))
def test_doubtful_parameters_are_judged_by_their_value(secret: str, name: str) -> None:
    value = f"{secret}0123456789abcdef"
    assert value not in secrets.text(f"https://h.example/?{name}={value}")
    assert secrets.text(f"https://h.example/?{name}=bridge&page=2") == f"https://h.example/?{name}=bridge&page=2"


@pytest.mark.parametrize(
    "line",
    [
        "Authorization: Bearer {}",
        "authorization: Basic {}",
        "Proxy-Authorization: {}0123456789abcdef",
        "Cookie: session={}; theme=dark",
        "Set-Cookie: id={}; HttpOnly",
        '{{"Authorization": "Bearer {}"}}',
        "{{'x-api-key': '{}'}}",
        "X-Subscription-Token: {}",
        '{{"password": "{}", "n": 1}}',
        "{{'api_key': '{}'}}",
        "curl failed: sent header bearer {} to h.example",
    ],
)
@given(secret=SECRET)
def test_no_value_of_a_sensitive_header_is_shown(line: str, secret: str) -> None:
    value = f"{secret}0123456789"
    shown = secrets.text(f"before\n{line.format(value)}\nafter")
    assert value not in shown and shown.startswith("before\n") and shown.endswith("\nafter")
    assert secrets.text(shown) == shown


@pytest.mark.parametrize(
    "key",
    [
        "sk-ant-api03-AbCdEfGh1234567890",
        "tvly-dev-0123456789abcdef",
        "ghp_0123456789abcdefghijklmnop",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "xoxb-1234567890-abcdefghij",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
        "npm_0123456789abcdefghijklmnopqrstuvwxyz",
        "pypi-AgEIcHlwaS5vcmcCJDU1",
        "SG.abcdefghijklmnop.qrstuvwxyz012345",
        "sk_" + "live_0123456789abcdefghij",
        "xai-0123456789abcdefghijklmn",
        "gsk_0123456789abcdefghijklmn",
        "bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    ],
)
def test_keys_of_a_known_form_and_given_ones_are_masked_wherever_they_stand(key: str) -> None:
    for text in (f"key {key}.", f'"{key}"', f"https://h.example/{key}/x", f"a={key}&b"):
        assert key not in secrets.text(text), text
    assert secrets.text("my own words", known=["own wo", ""]) == "my ***rds"


@pytest.mark.parametrize(
    ("told", "secret"),
    [
        ("https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnop", "abcdefghijklmnop"),
        ("https://discord.com/api/webhooks/1234567890/abcDEF123456abcDEF123456", "abcDEF123456"),
        ('https://h.example/?data={"token":"SECRETV1"}', "SECRETV1"),
        ("https://h.example/?data=%7B%22token%22%3A%22SECRETV1%22%7D", "SECRETV1"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAK\n-----END RSA PRIVATE KEY-----\nafter", "MIIEow"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEow cut off", "MIIEow"),
    ],
)
def test_secrets_in_other_places_are_not_shown(told: str, secret: str) -> None:
    """Promise 12: the path of a hook, JSON in a parameter, a key in a block of lines."""
    shown = secrets.text(told)
    assert secret not in shown and secrets.text(shown) == shown
    if told.startswith("https"):
        assert secret not in secrets.url(told)


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/list?nextPageToken=abcdefgh&continuationtoken=abcdefgh12&sort=key&monkey=42",
        "How to set a password, step by step: https://example.org/password-tips?page=2&tokens=3&monkey=1",
        "the cookie: a small cake",
        "https://example.org/a?q=token+ring&lang=en#signature",
        "tokens=512 in, 20 out; api keys are described in https://example.org/api-key.html",
        "https://example.org/wiki/Basic_Books?key=value",
        "obs:3f9c21ab77de@8123-8700 and msg:20261130-ab12:4",
        "a_b = c - d; e/f?g",
        "",
    ],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert secrets.text(text) == text


@given(st.text(max_size=300))
def test_any_text_may_come(text: str) -> None:
    shown = secrets.text(text)
    assert secrets.text(shown) == shown
    secrets.url(text)


@given(SECRET, SECRET)
def test_two_urls_that_differ_in_a_secret_alone_stay_two_sources(one: str, other: str) -> None:
    """What is stored is never masked: key and id tell them apart; what is seen, and the folder's name, do not."""
    first, second = (Source.web(f"https://h.example/page?token={secret}&n=1") for secret in (one, other))
    assert first.shown == second.shown == "https://h.example/page?token=***&n=1"
    assert one not in first.folder("0" * 12)
    if one != other:
        assert first.key != second.key
        assert observation_id(first, "0" * 64) != observation_id(second, "0" * 64)
