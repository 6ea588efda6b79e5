"""The child process: limits, what is kept when it is killed, reuse, threads, and that nothing is left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from extract_documents import WORDS, page

from manusfs.extract import Extractor, Limits
from manusfs.extract.formats import foreign
from manusfs.records import Extracted

ODD = """
    import os, signal, time
    from manusfs.extract import Page
    from manusfs.records import Extracted

    class Odd:
        media_types = ("application/x-elf",)

        def extract(self, job):
            yield Page("first page", "i")
            yield Page("second page", "ii")
            yield from getattr(self, job.name)(job)

        def fine(self, job):
            print("a library that prints")
            yield Extracted(job.media_type, "", title=str(os.getpid()), extractor="odd/1")

        def spin(self, job):
            while True:
                pass
            yield

        def sleep(self, job):
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            time.sleep(600)
            yield

        def hoard(self, job):
            held = []
            while True:
                held.append(bytearray(8 << 20))
            yield

        def fall(self, job):
            os.kill(os.getpid(), signal.SIGSEGV)
            yield

        def leave(self, job):
            os._exit(3)
            yield

        def fail(self, job):
            raise ValueError("bad\\nbyte \\ud800")
            yield

        def flood(self, job):
            while True:
                yield Page("x" * 100_000)

        def write(self, job):
            with open(job.source_url, "wb") as file:
                file.write(b"x" * 100)
            yield Extracted(job.media_type, "", extractor="odd/1")
"""
RAW = b"\x7fELF" + bytes(60)


@pytest.fixture(scope="module", autouse=True)
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install an extractor that misbehaves, as a third party would: by an entry point."""
    place = tmp_path_factory.mktemp("site")
    (place / "odd_extractor.py").write_text(textwrap.dedent(ODD))
    info = place / "odd_extractor-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-extractor\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[manusfs.extractors]\napplication/x-elf = odd_extractor:Odd\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(place))
        foreign.cache_clear()
        yield
    foreign.cache_clear()


@pytest.fixture
def alone() -> Iterator[Extractor]:
    """Return an extractor with one child, started after the odd extractor was installed."""
    with Extractor(children=1) as made:
        yield made


def run(extractor: Extractor, what: str, **limits: float) -> Extracted:
    """Return what is kept of a document whose extractor does `what`."""
    return extractor.extract(RAW, name=what, limits=Limits(**{"seconds": 20.0, **limits}))  # type: ignore[arg-type]


def children() -> set[int]:
    """Return the ids of the processes that this one started and that are still there."""
    with subprocess.Popen(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, text=True) as listing:
        pairs = [line.split() for line in listing.communicate()[0].splitlines()]
    return {int(pid) for pid, parent in pairs if int(parent) == os.getpid()} - {listing.pid}


def gone(pids: set[str]) -> bool:
    """Return True if none of the processes runs any more."""
    return not any(int(pid) in children() for pid in pids)


def test_an_extractor_of_others_joins_by_an_entry_point(alone: Extractor):
    found = run(alone, "fine")
    assert found.text == "first page\n\nsecond page"
    assert found.pages == (0, 12)
    assert found.page_labels == ("i", "ii")
    assert (found.extractor, found.complete, found.notes) == ("odd/1", True, ())


@pytest.mark.parametrize(
    ("what", "limits", "told"),
    [
        ("spin", {"seconds": 0.5}, "time limit"),
        ("sleep", {"seconds": 0.5}, "time limit"),
        ("hoard", {"memory_mb": 64}, "memory limit"),
        ("fall", {}, "the child was ended by signal 11"),
        ("leave", {}, "the child ended with code 3"),
        ("fail", {}, "ValueError: bad byte"),
    ],
)
def test_what_was_read_before_a_limit_or_a_crash_is_kept_and_told(alone: Extractor, what: str, limits, told: str):
    """Cases p26, h07: the agent goes on, with the pages done so far."""
    found = run(alone, what, **limits)
    assert found.text == "first page\n\nsecond page"
    assert not found.complete
    assert found.notes[0].startswith(f"extraction stopped: {told}")
    assert found.notes[1] == "pages 1-2 were read before that"
    assert "\n" not in "".join(found.notes)
    assert run(alone, "fine").complete


def test_more_text_than_is_taken_ends_the_job(alone: Extractor):
    found = run(alone, "flood", text_bytes=1_000_000)
    assert 900_000 < len(found.text) <= 1_000_000
    assert not found.complete
    assert any("the text was cut at 1000000 bytes" in note or "larger than is taken" in note for note in found.notes)


def test_the_child_is_reused(alone: Extractor):
    assert len({run(alone, "fine").title for _ in range(5)}) == 1


def test_a_child_that_did_its_jobs_is_replaced(alone: Extractor, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("manusfs.extract.child._JOBS_PER_CHILD", 2)
    pids = [run(alone, "fine").title for _ in range(5)]
    assert len(set(pids)) == 3
    assert gone(set(pids[:4]))


def test_several_threads_get_their_own_answers():
    """Four documents at a time over two children: no frame goes to another's job."""
    pages = [page(f"<p>Number {number} of the pages.</p>", title=f"T{number}") for number in range(24)]
    with Extractor(children=2) as extractor, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(extractor.extract, pages))
        assert len({run(extractor, "fine").title for _ in range(3)}) <= 2
    assert [one.title for one in found] == [f"T{number}" for number in range(24)]
    assert all(f"Number {number} of the pages." in one.text for number, one in enumerate(found))


def test_close_leaves_no_process():
    before = children()
    extractor = Extractor(children=2)
    pid = run(extractor, "fine").title
    assert int(pid) in children()
    extractor.close()
    assert children() <= before
    again = run(extractor, "fine")
    assert again.complete
    assert again.title != pid
    extractor.close()
    assert children() <= before


def test_an_extractor_that_is_forgotten_leaves_no_process():
    before = children()
    extractor = Extractor()
    assert int(run(extractor, "fine").title) in children()
    del extractor
    gc.collect()
    assert children() <= before


def test_a_child_that_was_killed_while_idle_is_told_and_the_next_document_is_read(alone: Extractor):
    os.kill(int(run(alone, "fine").title), 9)
    for _ in range(3):
        found = run(alone, "fine")
        if found.complete:
            break
        assert "the child was ended by signal 9" in found.notes[0]
    assert found.complete


def test_a_page_whose_child_dies_keeps_its_words(alone: Extractor, monkeypatch: pytest.MonkeyPatch):
    """A page is never without text because a process could not run: its tags are stripped here."""
    monkeypatch.setattr("manusfs.extract.child.sys.executable", "/nonexistent/python")
    found = alone.extract(page("<script>no()</script><p>the &amp; end</p>"))
    assert "oranges" in found.text
    assert "the & end" in found.text
    assert "no()" not in found.text
    assert found.notes[0].startswith("extraction stopped: no child process could be started")
    assert "without its tags" in found.notes[1]


def test_a_page_that_takes_too_long_keeps_everything_visible(alone: Extractor):
    """Case h07: 200,000 paragraphs, over 45 s in main-content heuristics alone."""
    raw = b"<html><body><article>" + b"<p>para with a few words</p>" * 200_000 + b"<p>the end</p>"
    found = alone.extract(raw, limits=Limits(seconds=3.0))
    assert "the end" in found.text
    assert found.text.count("para with a few words") > 1_000
    assert found.notes


def test_memory_that_a_page_takes_is_bounded(alone: Extractor):
    raw = page("<table>" + "<tr>" + "<td>x" * 400_000)
    found = alone.extract(raw, limits=Limits(memory_mb=48))
    assert "oranges" in found.text
    assert found.notes


def test_a_child_that_nobody_waits_for_ends_by_itself(tmp_path: Path):
    """The parent is killed: its child reads the end of the pipe and goes."""
    script = (
        "import sys, time\nfrom manusfs.extract import Extractor\nx = Extractor(children=1)\n"
        "assert x.extract(b'<p>words</p>').text\n"
        "print(next(iter(x._pool._alive))._process.pid, flush=True)\ntime.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_a_library_prints_does_not_reach_the_answers(alone: Extractor):
    assert [run(alone, "fine").complete for _ in range(3)] == [True] * 3


def test_ctrl_c_in_the_terminal_is_not_for_the_child(alone: Extractor):
    pid = int(run(alone, "fine").title)
    assert os.getpgid(pid) != os.getpgrp()
    os.kill(pid, 2)
    assert run(alone, "fine").title == str(pid)


def test_threads_that_wait_for_a_child_get_one_when_another_fails(alone: Extractor):
    found: list[Extracted] = []
    threads = [
        threading.Thread(target=lambda what=what: found.append(run(alone, what, seconds=5.0)))
        for what in ("leave", "fine", "fall", "fine")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one.complete for one in found) == 2
    assert all(WORDS not in one.text and one.text for one in found)
