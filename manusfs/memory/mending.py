"""The repair behind `verify --repair`: it mends what can be proved and never makes anything worse."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from manusfs.errors import Damaged, ManusfsError, StorageError
from manusfs.memory.meta_mending import Drafts, mend_meta
from manusfs.records import Event, ObsRef
from manusfs.workspace.lost import LOST, set_aside
from manusfs.workspace.sealed import unseal
from manusfs.workspace.standing import is_taken

if TYPE_CHECKING:
    from manusfs.memory.recovery import Recovery
    from manusfs.workspace import Folder

__all__ = ["Mender", "clear_the_way", "give_up", "given_up"]

_GIVEN_UP = f"{LOST}/lost-for-good.json"
Problems = Callable[[str, str], list[str]]
"""Returns what is wrong with the observation folder of that path and id, one line each."""


@dataclass(frozen=True, slots=True)
class Mender:
    """Mends observation folders. What it can't mend it leaves as it is, as far as anything can still be read there."""

    folder: Folder
    recovery: Callable[[bool], Recovery] | None = None
    """Gives what brings bodies back; without the flag, it may store no new observation."""
    draft: Drafts | None = None
    """Makes anew what was known of a body."""

    def repair(self, broken: Mapping[str, str], problems: Problems, sound: Mapping[str, str]) -> Iterator[str]:
        """Yield what was done about each of the damaged folders `broken` (id by path); `sound` has the paths of others.

        Raises:
            StorageError: something can't be read or written now; what was not seen is not touched.
        """
        told = self._told(frozenset(broken.values())) if broken else {}
        strays: dict[str, str] = {}
        for path, id in broken.items():
            done = []
            if id in sound:
                yield f"obs:{id} {path}: {self._set_aside(path, f'it is whole in {sound[id]}')}"
                continue
            if not self._described(path, id):
                how = mend_meta(self.folder, path, id, told.get(id, []), self.draft)
                if not how:
                    home = self._home(path)
                    why = "it is another observation" if home else "nothing tells what it is"
                    yield f"obs:{id} {path}: {self._set_aside(path, why, strays, home)}"
                    continue
                done.append(f"meta.json mended: {how}")
            left = self._files(path, id, problems)
            if left:
                done.append(f"kept as it is, with what is lost for good: {'; '.join(left)}")
            yield f"obs:{id} {path}: {'; '.join(done) or 'mended'}"
        for home, kept in strays.items():
            if not is_taken(self.folder.root, home):
                self.folder.root.rename(kept, home)
                yield f"{home}: put back from {kept}"

    def bring_back(self, ids: Iterable[str]) -> Iterator[str]:
        """Yield a line for each of `ids`, whose folders are gone, that the cache or its source gave again."""
        for id in ids:
            if self.recovery is not None and self.recovery(True).mend(ObsRef(id, "raw")):
                yield f"obs:{id}: it was gone and is stored again"

    def _described(self, path: str, id: str) -> bool:
        from manusfs.store.observations_files import load_meta

        try:
            load_meta(self.folder.root, path, id)
        except Damaged:
            return False
        # One with several names proves itself, but must get a name of its own.
        return self.folder.root.exists(f"{path}/meta.json")

    def _files(self, path: str, id: str, problems: Problems) -> list[str]:
        """Mend the views whose files are damaged, and return what is wrong after that."""
        from manusfs.store.observations_files import load_meta

        left = problems(path, id)
        if not left or self.recovery is None:
            return left
        # To store what a changed source gives now would take a session, and that the lock that repair holds.
        recovery = self.recovery(False)
        files = load_meta(self.folder.root, path, id).files
        for view in ("raw", "text", "full"):
            if view in files and any(line.startswith(f"{path}/{files[view].name}:") for line in left):
                # The others follow from the raw bytes; to ask the source once is enough.
                recovery.mend(ObsRef(id, view), network=view == "raw")
        return problems(path, id)

    def _set_aside(self, path: str, why: str, strays: dict[str, str] | None = None, home: str = "") -> str:
        try:
            kept = set_aside(self.folder.root, path)
        except ManusfsError as error:
            return f"could not be moved: {error}"
        if strays is not None and home:
            strays.setdefault(home, kept)
        return f"moved to {kept}: {why}"

    def _home(self, path: str) -> str:
        """Return where the observation that lies in `path`, whole but under the name of another, has its place."""
        from manusfs.store.observations_files import check, load_meta

        root = self.folder.root
        try:
            claimed = (unseal(root.read(f"{path}/meta.json").rstrip(b"\n")) or {}).get("id", "")
            meta = load_meta(root, path, str(claimed))
            return "" if check(root, path, meta) else meta.folder
        except ManusfsError:
            return ""

    def _told(self, ids: frozenset[str]) -> dict[str, list[Event]]:
        """Return the `observation` events of `ids` in all transcripts."""
        from manusfs.session import Transcript, sessions

        found: dict[str, list[Event]] = {}
        for info in sessions(self.folder):
            try:
                with Transcript.open(self.folder, info.session) as transcript:
                    events = transcript.events
            except StorageError:
                raise
            except ManusfsError:
                continue
            for event in events:
                if event.kind == "observation" and event.data.get("id") in ids:
                    found.setdefault(str(event.data["id"]), []).append(event)
        return found


def clear_the_way(folder: Folder) -> Iterator[str]:
    """Yield a line for each folder that repair and every other command must have, and in whose place stands no folder.

    What stands there is moved aside: `.manusfs/` is derived, and `lost+found/` is made when it is wanted.
    """
    root = folder.root
    if is_taken(root, LOST) and not root.is_dir(LOST):
        root.rename(LOST, aside := f"{LOST}~{os.urandom(4).hex()}")
        yield f"{LOST}: it was no folder and is {aside} now"
    for place in (".manusfs", ".manusfs/tmp", ".manusfs/cache"):
        if is_taken(root, place) and not root.is_dir(place):
            yield f"{place}: moved to {set_aside(root, place)}: it is no folder"
    if is_taken(root, _GIVEN_UP) and (root.is_dir(_GIVEN_UP) or not root.exists(_GIVEN_UP)):
        yield f"{_GIVEN_UP}: moved to {set_aside(root, _GIVEN_UP)}: it is no plain file"


def given_up(folder: Folder) -> frozenset[str]:
    """Return what earlier repairs could not mend."""
    return frozenset(_given_up(folder)["lost"])


def give_up(folder: Folder, lines: Iterable[str], may_name: Callable[[], Iterable[str]] = tuple) -> None:
    """Remember what could not be mended, so that nobody is told to repair it again.

    `may_name` gives the observations that lines of transcripts which were lost now may have named, as nothing else
    does: that they stand here keeps them from `gc`, which so need not wait for lines that never come back.
    """
    now, before = sorted(set(lines)), _given_up(folder)
    lost = {line for line in now if _is_of_transcript(line)}
    named = before["may_name"] if lost else []
    if lost - set(before["lost"]):
        named = sorted({*named, *may_name()})
    if (now, named) == (before["lost"], before["may_name"]) or not (now or folder.root.exists(_GIVEN_UP)):
        return
    told = {"lost": now, **({"may_name": named} if named else {})}
    folder.root.write_atomic(_GIVEN_UP, json.dumps(told, ensure_ascii=False, indent=1).encode() + b"\n")


def _is_of_transcript(line: str) -> bool:
    """Return True if `line`, of a check, tells of a transcript that is not whole."""
    return line.startswith(("msg:", "sessions/"))


def _given_up(folder: Folder) -> dict[str, list[str]]:
    try:
        told = json.loads(folder.root.read(_GIVEN_UP)) if folder.root.exists(_GIVEN_UP) else {}
        return {name: [str(line) for line in told.get(name, ())] for name in ("lost", "may_name")}
    except (ManusfsError, ValueError, TypeError, AttributeError, RecursionError):
        return {"lost": [], "may_name": []}
