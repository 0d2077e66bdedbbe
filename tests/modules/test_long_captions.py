"""Captions of more than 77 tokens: checkpoints that read them, and windows for those that do not."""

import warnings

import numpy as np
import pytest

import manycaps
from manycaps.kit.clip_encoder import encode_images
from manycaps.kit.clip_model import build_network
from tests.clip_checkpoints import SMALL, save_checkpoint, small_network, small_weights
from tests.large_packages import open_clip, torch
from tests.modules.sample_inputs import CAPTION_ROWS, IMAGES, VIDEOS

# Positions of LongCLIP.
N_LONG = 248

SENTENCES = [f"A {colour} dog number {i} runs over the wet sand of a long beach." for i, colour in enumerate("rgbywk")]
LONG = " ".join(SENTENCES)

COLUMNS = {
    "pac_score": {"images": IMAGES},
    "ref_pac_score": {"images": IMAGES, "references": CAPTION_ROWS["references"]},
    "emscore_pac": {"videos": VIDEOS},
}


@pytest.fixture(scope="module", params=list(COLUMNS))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def weights_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("long")


def opposite(weights):
    """Weights with the opposite text features, whose cosines with the images here are above 0."""
    return weights | {"text_projection": -weights["text_projection"]}


@pytest.fixture(scope="module")
def short_checkpoint(weights_folder):
    return str(save_checkpoint(weights_folder / "short.pth", opposite(small_weights())))


@pytest.fixture(scope="module")
def long_state():
    """Random weights in the format of LongCLIP: a bare state dict of OpenAI's names, with two tables of positions."""
    weights = small_weights(text_cfg=SMALL["text_cfg"] | {"context_length": N_LONG})
    generator = torch.Generator().manual_seed(1)
    return opposite(weights) | {"positional_embedding_res": torch.randn(N_LONG, 64, generator=generator)}


@pytest.fixture(scope="module")
def long_checkpoint(weights_folder, long_state):
    torch.save(long_state, weights_folder / "longclip.pt")
    return str(weights_folder / "longclip.pt")


def load(name, checkpoint, **options):
    return manycaps.load(name, checkpoint=checkpoint, device="cpu", **options)


def columns(name, first):
    return {"predictions": [[first], *CAPTION_ROWS["predictions"][1:]], **COLUMNS[name]}


def long_features(long_state, text):
    """What LongCLIP's own program computes of a text: both tables under masks, all 248 positions, in float64."""
    network = small_network(text_cfg=SMALL["text_cfg"] | {"context_length": N_LONG}).double()
    is_kept = (torch.arange(N_LONG) < 20).double()[:, None]
    positions = long_state["positional_embedding"] * is_kept + long_state["positional_embedding_res"] * (1 - is_kept)
    with torch.inference_mode():
        network.positional_embedding.copy_(positions)
        network.text_projection.copy_(long_state["text_projection"])
        return network.encode_text(open_clip.SimpleTokenizer(context_length=N_LONG)(text))[0].numpy()


def test_a_checkpoint_of_248_positions_reads_all_of_them(name, long_checkpoint):
    module = load(name, long_checkpoint, details=True)
    assert module.encoder.model.context_length == N_LONG
    whole = module.compute(**columns(name, LONG))
    other_end = module.compute(**columns(name, LONG.removesuffix("beach.") + "street."))
    assert whole["n_truncated"] == 0
    assert whole[f"{name}_per_row"][0] != other_end[f"{name}_per_row"][0]
    assert whole[f"{name}_per_row"][1:] == other_end[f"{name}_per_row"][1:]
    assert module.compute(**columns(name, "dog " * 300))["n_truncated"] == 1


@pytest.mark.parametrize("n_words", [18, 19, 300])
def test_features_are_those_of_the_authors_program(long_state, long_checkpoint, n_words):
    text = "dog cat " * (n_words // 2) + "runs"
    found = load("pac_score", long_checkpoint).encoder.encode_texts([text], 4).distinct[0]
    assert found == pytest.approx(long_features(long_state, text), abs=2e-5)


def test_windows_are_the_mean_of_their_unit_features(short_checkpoint):
    module = load("pac_score", short_checkpoint, details=True, long_captions="window")
    result = module.compute(**columns("pac_score", LONG))
    prompt = "A photo depicts "
    windows = module.encoder.windows("A photo depicts", LONG)
    assert len(windows) == 2
    assert " ".join(window.removeprefix(prompt) for window in windows) == LONG
    features = module.encoder.encode_texts(windows, 4).distinct.astype(np.float64)
    mean = (features / np.linalg.norm(features, axis=1, keepdims=True)).mean(axis=0)
    picture = np.frombuffer(encode_images(module.encoder, IMAGES[:1], "images", 4, 1)[0], np.float32).astype(np.float64)
    cosine = mean @ picture / np.linalg.norm(mean) / np.linalg.norm(picture)
    assert result["pac_score_per_row"][0] == pytest.approx(2 * max(cosine, 0.0), abs=1e-6)


def test_windows_are_counted_and_leave_other_captions_alone(name, short_checkpoint):
    module = load(name, short_checkpoint, details=True)
    with pytest.warns(
        UserWarning, match="^long_captions: expected texts .* Give long_captions='window' to re"
    ) as caught:
        cut = module.compute(**columns(name, LONG))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = module.compute(**columns(name, LONG), long_captions="window")
    assert (cut["n_truncated"], read["n_truncated"], read["n_windowed"]) == (1, 0, 1)
    assert "n_windowed" not in cut
    assert cut[f"{name}_per_row"][0] != read[f"{name}_per_row"][0]
    assert cut[f"{name}_per_row"][1:] == read[f"{name}_per_row"][1:]
    assert read["signature"] == cut["signature"] + "|long_captions:window"


def test_a_sentence_that_is_too_long_is_truncated_and_counted(name, short_checkpoint):
    module = load(name, short_checkpoint)
    one = columns(name, "dog " * 90)
    with pytest.warns(UserWarning, match="^long_captions: expected sentences that the encoder reads to their end, got"):
        found = module.compute(**one, long_captions="window")
    assert found == module.compute(**one) | {"n_windowed": 0}
    both = module.compute(**columns(name, "dog " * 90 + ". A cat."), long_captions="window")
    assert (both["n_truncated"], both["n_windowed"]) == (1, 1)


def test_windows_of_references(short_checkpoint):
    module = manycaps.load("emscore_pac", "references", checkpoint=short_checkpoint, device="cpu")
    given = columns("emscore_pac", "a dog") | {"references": [[LONG], *CAPTION_ROWS["references"][1:]]}
    result = module.compute(**given, long_captions="window", idf=True)
    assert (result["n_truncated"], result["n_windowed"]) == (0, 1)
    assert np.isfinite(result["combined_emscore_pac"])


ONES = np.ones((248, 64), np.float32)


@pytest.mark.parametrize(
    ("change", "got"),
    [
        ({"positional_embedding": None}, "KeyError: 'positional_embedding'"),
        ({"positional_embedding": ONES[:77]}, "got (77, 64) and (248, 64)."),
        ({"positional_embedding": ONES[:20], "positional_embedding_res": ONES[:20]}, "got (20, 64) and (20, 64)."),
    ],
    ids=["missing", "short", "none_used"],
)
def test_bad_tables_of_positions(long_state, change, got):
    changed = {key: value if value is None else torch.from_numpy(value.copy()) for key, value in change.items()}
    weights = {key: value for key, value in (long_state | changed).items() if value is not None}
    with pytest.raises(ValueError) as caught:
        build_network(weights, "quick_gelu")
    assert str(caught.value).startswith("checkpoint: expected ")
    assert got in str(caught.value)
