"""What several files of tests of the kit have in common: a small model of sentences, and a cache of each test."""

import pytest

from manycaps.kit import meteor15_data
from tests.oracles.tiny_sentence_model import save_tiny_model
from tests.unit.kit.meteor15_cases import cache_of


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache of this test's own."""
    monkeypatch.setattr(meteor15_data.huggingface_hub, "cached_assets_path", cache_of(tmp_path / "cache"))
    return tmp_path / "cache"
