"""Bytes to text: what was declared, what the bytes say, and detection for the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manusfs.extract import Extractor
from manusfs.extract.charset import decode, decode_utf8

RU = "Слово и дело, когда мы пошли в лес за грибами, было тихо и тепло."
ZH = "这是中文的一个句子，今天天气很好，我们去公园散步。"
JA = "このページは町の歴史と人々について語ります。今日は天気がいいですね。"
GUESSED = [
    (RU, "cp1251"),
    (RU, "koi8_r"),
    (RU, "iso8859_5"),
    (RU, "cp866"),
    ("Αυτή η σελίδα περιγράφει την ιστορία της πόλης και των κατοίκων της.", "cp1253"),
    ("הדף הזה מספר את תולדות העיר ואת תושביה מאז ומתמיד", "cp1255"),
    ("هذه الصفحة تحكي تاريخ المدينة وسكانها منذ القدم", "cp1256"),
    (ZH, "gb18030"),
    ("這是中文的一個句子，今天天氣很好，我們去公園散步。", "big5"),
    (JA, "shift_jis"),
    (JA, "euc_jp"),
    (JA, "iso2022_jp"),
    ("이 페이지는 도시의 역사와 사람들에 대해 이야기합니다.", "euc_kr"),
    ("หน้านี้เล่าประวัติศาสตร์ของเมืองและผู้คน", "cp874"),
    ("Über die Größe der Straße läßt sich nichts sagen, schöne Grüße.", "cp1252"),
    ("Le café était fermé à cause d’une grève générale, déjà annoncée — hélas.", "cp1252"),
    ("El año pasado, la niña comió piñones y después se fue.", "cp1252"),
    ("Zażółć gęślą jaźń, a potem pójdź się przejść.", "cp1250"),
    ("Zażółć gęślą jaźń, a potem pójdź się przejść.", "iso8859_2"),
    ("Příliš žluťoučký kůň úpěl ďábelské ódy, řekl děda.", "cp1250"),
    ("Árvíztűrő tükörfúrógép, őszi idő, szűk út és bő patak.", "cp1250"),
    ("Bu sayfa şehrin tarihini ve insanlarını anlatır, çünkü ışık güneşten gelir.", "cp1254"),
    ("plain words without a mark", "utf-16-le"),
]
DECLARED = [
    ("naïve “quotes”", "cp1252", "iso-8859-1"),
    ("naïve “quotes”", "cp1252", "us-ascii"),
    (ZH, "gb18030", "GB2312"),
    (ZH, "gb18030", "gbk"),
    (JA, "cp932", "Shift_JIS"),
    ("ab한글", "cp949", "EUC-KR"),
    ("Ѐ тихо", "utf-8", "windows-1251"),
    ("тихо", "koi8_r", ' "koi8-r" '),
]


@pytest.mark.parametrize("markup", [False, True])
@pytest.mark.parametrize(("text", "codec"), GUESSED)
def test_a_legacy_charset_that_nobody_declared_is_found(text: str, codec: str, markup: bool):
    raw = text.encode(codec)
    if markup and codec != "utf-16-le":
        raw = b"<html><head><title>A page</title></head><body class='x'><p>" + raw + b"</p></body></html>"
    assert text in decode(raw, markup=markup).text


def test_a_guess_is_told():
    assert decode(RU.encode("cp1251")).notes == ("charset not declared, guessed: windows-1251",)
    assert decode(RU.encode()).notes == ()


@pytest.mark.parametrize(("text", "codec", "label"), DECLARED)
def test_a_declared_charset_is_read_as_browsers_do(text: str, codec: str, label: str):
    """https://encoding.spec.whatwg.org/: labels stand for supersets, and valid UTF-8 wins."""
    assert decode(text.encode(codec), label).text == text


@pytest.mark.parametrize(
    "label", ["no-such-charset", "utf-7", "base64", "\x00", "é", "x" * 5_000, "unicode_escape", "idna"]
)
def test_a_charset_that_does_not_exist_is_as_good_as_none(label: str):
    """Case n10: no LookupError."""
    assert decode("œuvre".encode(), label).text == "œuvre"
    assert decode(RU.encode("cp1251"), label).text == RU


def test_a_meta_tag_counts_in_markup_only():
    raw = b'<html><head><meta http-equiv="content-type" content="text/html; charset=koi8-r"></head>' + RU.encode(
        "koi8_r"
    )
    assert decode(raw, markup=True).charset == "koi8-r"
    assert decode(b'<?xml version="1.0" encoding="shift_jis"?><p>' + JA.encode("cp932"), markup=True).text.endswith(JA)
    assert decode("naïve".encode("cp1252") + b' <meta charset="koi8-r">').text.startswith("naïve")


def test_the_header_wins_over_the_meta_tag():
    raw = b'<meta charset="koi8-r"><p>' + RU.encode("cp1251")
    assert decode(raw, "windows-1251", markup=True).text.endswith(RU)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-32", "utf-16-be"])
def test_a_byte_order_mark_wins_over_everything(codec: str):
    mark = b"\xfe\xff" if codec == "utf-16-be" else b""
    assert decode(mark + RU.encode(codec), "koi8-r").text == RU


def test_a_few_bad_bytes_do_not_make_a_utf8_text_another_charset():
    """Cut in the middle of a character by a limit on the way: most of the text is right and stays so."""
    found = decode(("œuvre complète. " * 50).encode()[:-1] + "é".encode()[:1])
    assert found.text.startswith("œuvre complète.")
    assert found.charset == "utf-8"
    assert "not valid UTF-8" in found.notes[0]


def test_a_cp1251_page_without_charset_reads_as_words(extractor: Extractor):
    """Case h14."""
    raw = b"<html><body><article><p>" + ("слово " * 80).encode("cp1251") + b"</p></article></body></html>"
    found = extractor.extract(raw, media_type="text/html")
    assert found.text.split() == ["слово"] * 80
    assert found.charset == "windows-1251"


def test_nul_bytes_do_not_make_a_page_utf_16(extractor: Extractor):
    found = extractor.extract(b"<html><body>" + bytes(50_000) + b"<p>the end</p>", media_type="text/html")
    assert found.text == "the end\n"


@given(
    st.binary(max_size=400), st.sampled_from(["", "utf-8", "gbk", "utf-16", "iso-2022-jp", "hz", "big5"]), st.booleans()
)
def test_any_bytes_become_valid_text_without_nul(raw: bytes, declared: str, markup: bool):
    """I3."""
    text = decode(raw, declared, markup=markup).text
    assert "\x00" not in text
    text.encode("utf-8")


@given(st.text(alphabet=st.characters(exclude_characters="\x00\ufeff", exclude_categories=["Cs"])))
def test_utf8_comes_through_unchanged(text: str):
    """A text is its own view, byte for byte; the escapes of ISO 2022 are the one exception."""
    if "\x1b$" not in text:
        assert decode(text.encode()).text == text


def test_a_few_bad_bytes_do_not_make_a_page_that_says_utf8_another():
    """R14: what was declared and reads well stays; the damage is told."""
    raw = b'<meta charset="utf-8"><p>' + "na\u00efve".encode() + b" and bad \xe9\xff bytes"
    found = decode(raw, markup=True)
    assert "na\u00efve" in found.text
    assert found.charset == "utf-8"
    assert found.notes == ("2 bytes that are not valid UTF-8 were replaced",)


def test_a_wrong_label_is_told_as_such():
    """R14: nobody is told that there was none."""
    found = decode(RU.encode("cp1251"), "utf-8")
    assert found.text == RU
    assert found.notes == ("charset declared as utf-8, which it is not, guessed: windows-1251",)


@pytest.mark.parametrize(
    ("raw", "name", "text"),
    [
        ("emoji 😀 and Grüße".encode("utf-16-le").decode("utf-16-le"), "cesu-8", "emoji 😀 and Grüße"),
        ("русский текст в старой кодировке " * 5, "koi8-r", "русский текст в старой кодировке " * 5),
        ("русский текст в старой кодировке " * 5, "cp866", "русский текст в старой кодировке " * 5),
    ],
)
def test_short_texts_of_old_programs_are_read(raw: str, name: str, text: str) -> None:
    """A guess by letter counts called these Chinese, half-wide katakana or capitals."""
    if name == "cesu-8":
        pairs = raw.encode("utf-16-be")
        units = "".join(chr(int.from_bytes(pairs[at : at + 2], "big")) for at in range(0, len(pairs), 2))
        decoded = decode(units.encode("utf-8", "surrogatepass"))
    else:
        decoded = decode(raw.encode(name))
    assert (decoded.text, decoded.charset) == (text, name)


def test_a_charset_in_a_comment_or_a_script_declares_nothing() -> None:
    page = '<html><!-- <meta charset=shift_jis> --><script>"<meta charset=big5>"</script><p>Grüße, Ärger, Äpfel</p>'
    assert "Grüße, Ärger, Äpfel" in decode(page.encode("cp1252"), markup=True).text
    real = '<html><!-- x --><meta charset="koi8-r"><p>слово</p>'
    assert decode(real.encode("koi8-r"), markup=True).charset == "koi8-r"


def test_plain_text_in_iso_2022_is_no_ascii() -> None:
    assert decode_utf8("日本語".encode("iso2022_jp")) is None
    assert decode_utf8(b"\x1b[31mred\x1b[0m") is not None
    assert decode("日本語".encode("iso2022_jp")).text == "日本語"
