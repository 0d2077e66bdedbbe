"""The page of sentences: every verdict of `compare` stands on it, and it is kept up to date."""

import pathlib

from manycaps.comparison.sentences import SENTENCES
from scripts.repository import sentences_page, sync_kit

ROOT = pathlib.Path(__file__).resolve().parents[4]


def test_the_page_has_every_sentence_once_with_its_condition():
    page = (ROOT / "docs" / "sentences.md").read_text(encoding="utf-8")
    assert page == sentences_page.page()
    for listed in SENTENCES.values():
        row = f"| {listed.example} | {listed.condition} |".replace("<", "\\<")
        assert page.count(f"\n{row}\n") == 1, listed.example


def test_a_page_that_is_not_up_to_date_is_reported_and_written(tmp_path, monkeypatch):
    monkeypatch.setattr(sync_kit, "ROOT", tmp_path)
    assert list(sync_kit.sync_written(check=False)) == []
    page = tmp_path / "docs" / "sentences.md"
    page.parent.mkdir()
    page.write_text("old\n", encoding="utf-8")
    assert list(sync_kit.sync_written(check=True)) == [f"docs/sentences.md: it is not up to date. {sync_kit.REPAIR}"]
    assert list(sync_kit.sync_written(check=False)) == []
    assert page.read_text(encoding="utf-8") == sentences_page.page()
