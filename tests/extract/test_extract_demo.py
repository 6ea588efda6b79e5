"""A real page of the shipped examples, through the workspace: what a person finds in its folder afterwards."""

from __future__ import annotations

from pathlib import Path

import lxml.html

from manusfs.memory import Workspace

PAGE = Path(__file__).parents[2] / "examples" / "demo" / "history.html"


def test_a_page_added_to_a_workspace_has_its_table_code_links_and_outline(tmp_path: Path):
    """The one way in: bytes as they came, a reading view with all that counts, the outline that stubs show."""
    with Workspace.create(tmp_path / "w") as workspace:
        added = workspace.add(str(PAGE))
        folder = tmp_path / "w" / added.path
        meta = workspace.observations.meta(added.ref.removeprefix("obs:"))
    assert (folder / "raw.html").read_bytes() == PAGE.read_bytes()
    text = (folder / "text.md").read_text("utf-8")
    tree = lxml.html.document_fromstring(PAGE.read_bytes())
    for row in tree.xpath("//table//tr"):
        assert f"| {' | '.join(cell.text_content() for cell in row)} |" in text
    for line in tree.xpath("//pre")[0].text_content().splitlines():
        assert f"\n{line}\n" in text
    for link in tree.xpath("//article//a"):
        assert f"[{link.text_content()}]({link.get('href')})" in text
    assert [heading.title for heading in meta.outline[:3]] == [
        node.text_content() for node in tree.xpath("//h1 | //h2")[:3]
    ]
    assert all(text.encode()[heading.offset :].startswith(b"#") for heading in meta.outline)
    assert "cookies" not in text
