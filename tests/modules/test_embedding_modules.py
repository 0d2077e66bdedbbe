"""What holds for every module that embeds captions: encoders, ready arrays, and how they fail."""

import pathlib

import numpy as np
import pytest

from manycaps.kit.sets_triangle_rank import triangle_rank_counts, triangle_rank_statistic
from tests.each_case import each_case
from tests.large_packages import evaluate, torch
from tests.oracles import embedding_loops
from tests.oracles.tiny_sentence_model import save_tiny_model

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "metrics"
NAMES = ["mmd_bert", "fid_bert", "trm_bert"]

ROWS = {
    "predictions": [
        ["a dog runs on the beach", "a brown dog plays in the sand", "two people watch a dog"],
        ["a man cooks pancakes", "a man flips a pancake in the kitchen"],
        ["a train arrives", "a train at the platform", "people wait for the train", "a red train stops"],
    ],
    "references": [
        ["a dog is running along the sea", "the dog runs over the sand"],
        ["a father makes breakfast", "pancakes are cooking in a pan", "a man at the stove"],
        ["a train comes into the station", "passengers wait on the platform"],
    ],
}

every_name = pytest.mark.parametrize("name", NAMES)


def bag_of_words(captions):
    """Counts of the words that occur in any of the captions."""
    words = sorted({word for caption in captions for word in caption.split()})
    return np.array([[caption.split().count(word) for word in words] for caption in captions], dtype=float)


def load(name, **options):
    return evaluate.load(str(FOLDER / name), **options)


def as_arrays(encoder, rows=ROWS):
    captions = sorted({caption for column in rows.values() for row in column for caption in row})
    vectors = dict(zip(captions, encoder(captions), strict=True))
    return {
        f"{column.removesuffix('s')}_embeddings": [
            np.array([vectors[caption] for caption in row]) for row in rows[column]
        ]
        for column in rows
    }


def expected(name, row, n):
    if name == "mmd_bert":
        return embedding_loops.mmd_squared(row[:n], row[n:], "median", "unbiased")
    if name == "fid_bert":
        return embedding_loops.frechet_distance(row[:n], row[n:])
    cosines = row @ row.T / np.linalg.norm(row, axis=1) / np.linalg.norm(row, axis=1)[:, None]
    return triangle_rank_statistic(triangle_rank_counts(1 - cosines[None], n))[0]


@every_name
def test_captions_through_a_function_equal_ready_arrays_and_the_loop(name):
    module = load(name)
    arrays = as_arrays(bag_of_words)
    result = module.compute(**ROWS, encoder=bag_of_words, details=True, p_value="exact", confidence_level=0.9)
    ready = module.compute(**arrays, details=True, p_value="exact", confidence_level=0.9)
    assert "encoder:bag_of_words|" in result.pop("signature")
    assert "encoder:ready arrays|" in ready.pop("signature")
    assert set(result) == set(ready)
    # The draws of the corpus test depend on what was given, captions or arrays: five standard errors of 9,999 draws.
    drawn = f"{name}_corpus_p_value"
    assert result.pop(drawn) == pytest.approx(ready.pop(drawn), abs=5 * np.sqrt(2 * 0.25 / 9_999))
    for key in result:
        assert result[key] == pytest.approx(ready[key], abs=1e-12), key
    for value, p, r in zip(result[f"{name}_per_row"], *arrays.values(), strict=True):
        # The roots of covariances are the oracle's weak side.
        assert value == pytest.approx(expected(name, np.concatenate((p, r)), len(p)), abs=1e-6)


@every_name
def test_the_encoder_at_load_time_and_the_default_at_compute_time(name):
    at_load, at_compute = load(name, encoder=bag_of_words), load(name)
    assert at_load.compute(**ROWS) == at_compute.compute(**ROWS, encoder=bag_of_words)
    default = at_compute.compute(**ROWS)
    assert default != at_load.compute(**ROWS)
    assert at_load.compute(**ROWS, encoder="sentence-transformers/all-MiniLM-L6-v2") == default


@every_name
def test_a_folder_is_an_encoder(name, tmp_path):
    folder = save_tiny_model(tmp_path / "tiny")
    result = load(name, encoder=folder, details=True).compute(**ROWS)
    assert f"encoder:{folder}|dtype:float32" in result["signature"]
    assert result == load(name, encoder=str(folder), device="cpu", details=True).compute(**ROWS)


@every_name
def test_ready_arrays_of_any_kind(name):
    block = np.random.default_rng(0).normal(size=(3, 7, 5))
    module = load(name)
    result = module.compute(prediction_embeddings=block[:, :4], reference_embeddings=block[:, 4:])
    for kind in (list, np.ndarray.tolist, torch.tensor, lambda array: tuple(map(tuple, array))):
        columns = {"prediction_embeddings": kind(block[:, :4]), "reference_embeddings": kind(block[:, 4:])}
        assert module.compute(**columns) == result
    single = module.compute(
        prediction_embeddings=block[:, :4].astype(np.float32), reference_embeddings=block[:, 4:].astype(np.float32)
    )
    assert single[name] == pytest.approx(result[name], abs=1e-5)


@every_name
def test_a_row_does_not_depend_on_its_neighbours(name):
    module = load(name, encoder=lambda captions: np.array([[len(c), c.count("a"), 1.0] for c in captions]))
    whole = module.compute(**ROWS, details=True, p_value="exact")
    for i in range(3):
        alone = module.compute(**{c: [rows[i]] for c, rows in ROWS.items()}, details=True, p_value="exact")
        for key in (f"{name}_per_row", f"{name}_p_value_per_row"):
            assert alone[key][0] == pytest.approx(whole[key][i], abs=1e-12)


@every_name
def test_a_failing_encoder_loses_no_row(name):
    module = load(name)
    module.add_batch(**ROWS)

    def broken(captions):
        raise RuntimeError("the encoder failed")

    with pytest.raises(RuntimeError, match="the encoder failed"):
        module.compute(encoder=broken)
    for output, message in (
        (lambda captions: np.ones((1, 2)), "encoder output: expected one vector for each of the 16 distinct captions"),
        (lambda captions: np.full((len(captions), 2), np.nan), "encoder output[0]: expected finite numbers"),
        (lambda captions: np.ones(len(captions)), "encoder output: expected an array of shape (n, d)"),
        (
            lambda captions: np.ones((len(captions), 2), dtype=int),
            "encoder output: expected floating-point numbers, got",
        ),
    ):
        with pytest.raises((TypeError, ValueError)) as error:
            module.compute(encoder=output)
        assert str(error.value).startswith(message)
    assert module.compute(encoder=bag_of_words) == module.compute(**ROWS, encoder=bag_of_words)


@every_name
def test_arrays_beside_captions_or_without_their_partner_are_refused(name):
    module, arrays = load(name), as_arrays(bag_of_words)
    for captions in (ROWS, {"predictions": ROWS["predictions"]}, {"references": ROWS["references"]}):
        with pytest.raises(
            ValueError, match=r"^prediction_embeddings: expected embeddings instead of captions, got both"
        ):
            module.compute(**arrays, **captions)
    with pytest.raises(TypeError, match=r"^reference_embeddings: expected a list of arrays"):
        module.compute(prediction_embeddings=arrays["prediction_embeddings"])
    module.add_batch(**ROWS)
    with pytest.raises(ValueError, match="got both. Leave out predictions, references and rows added before"):
        module.compute(**arrays)
    assert module.compute(encoder=bag_of_words) == module.compute(**ROWS, encoder=bag_of_words)


@every_name
def test_nothing_is_embedded_before_the_sizes_are_checked(name):
    def never(captions):
        raise AssertionError("embedded")

    module = load(name, encoder=never)
    with pytest.raises(ValueError, match="expected at most max_partitions=9 splits per row, got 10"):
        module.compute(**ROWS, p_value="exact", max_partitions=9)
    with pytest.raises(ValueError, match="expected at least 2 rows"):
        module.compute(**{c: rows[:1] for c, rows in ROWS.items()}, confidence_level=0.9)


ONE_SIDED = {"predictions": [["a", "b"], ["c"]], "references": [["d", "e"], ["f", "g"]]}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "mmd_bert",
            {},
            "predictions[1]: expected at least two captions, got one (1 such rows in all). estimator='unbias",
        ),
        ("mmd_bert", {"estimator": "authors"}, "predictions[1]: expected at least two captions, got one"),
        (
            "fid_bert",
            {},
            "predictions[1]: expected at least two captions, got one (1 such rows in all). One caption has no",
        ),
    ],
)
def test_a_side_of_one_caption(name, options, message):
    with pytest.raises(ValueError) as error:
        load(name, encoder=bag_of_words).compute(**ONE_SIDED, **options)
    assert str(error.value).startswith(message)
    arrays = {"prediction_embeddings": [np.ones((1, 2))], "reference_embeddings": [np.ones((3, 2))]}
    with pytest.raises(ValueError, match=r"^prediction_embeddings\[0\]: expected at least two captions, got one"):
        load(name).compute(**arrays, **options)


def test_one_candidate_is_enough_for_the_biased_estimator_and_for_the_ranks():
    assert load("mmd_bert", encoder=bag_of_words).compute(**ONE_SIDED, estimator="biased")["mmd_bert"] > 0
    for statistic in ("per_side", "pooled"):
        assert load("trm_bert", encoder=bag_of_words).compute(**ONE_SIDED, statistic=statistic)["n_rows"] == 2
    with pytest.raises(ValueError, match=r"^predictions\[0\], references\[0\]: expected at least 3 captions in all"):
        load("trm_bert").compute(predictions=[["a"]], references=[["b"]])


BAD_OPTIONS = [
    (
        "mmd_bert",
        "estimator",
        "unbaised",
        ValueError,
        "estimator: expected one of 'unbiased', 'biased', 'authors', got",
    ),
    ("mmd_bert", "sigma", "mode", ValueError, "sigma: expected one of 'median', 'mean', got 'mode'"),
    ("mmd_bert", "sigma", 0, ValueError, "sigma: expected a number above 1e-100 and below 1e+100, got 0"),
    ("mmd_bert", "sigma", float("nan"), ValueError, "sigma: expected a number above 1e-100 and below 1e+100, got nan"),
    ("mmd_bert", "sigma", [1.0], TypeError, "sigma: expected a number, got list. Give 'median', 'mean' or a"),
    ("mmd_bert", "sigma", True, TypeError, "sigma: expected a number, got bool. Give 'median', 'mean' or a"),
    ("mmd_bert", "pooled", 1, TypeError, "pooled: expected True or False, got 1"),
    ("fid_bert", "pooled", "yes", TypeError, "pooled: expected True or False, got 'yes'"),
    ("trm_bert", "statistic", "both", ValueError, "statistic: expected one of 'per_side', 'pooled', got 'both'"),
    *((name, "encoder", 3, TypeError, "encoder: expected a model's name or folder, or a function") for name in NAMES),
    *((name, "device", -1, TypeError, "device: expected a name, got int") for name in NAMES),
    *((name, "dtype", "int8", ValueError, "dtype: expected one of 'float32',") for name in NAMES),
    *(
        (name, "batch_size", 0, ValueError, "batch_size: expected a whole number of at least 1, got 0")
        for name in NAMES
    ),
]


@each_case(("name", "option", "value", "error_type", "message"), BAD_OPTIONS)
def test_bad_option_values_are_refused_at_load_and_compute_time(name, option, value, error_type, message):
    for call in (lambda: load(name, **{option: value}), lambda: load(name).compute(**ROWS, **{option: value})):
        with pytest.raises(error_type) as error:
            call()
        assert str(error.value).startswith(message)


def test_a_zero_vector_has_no_cosine():
    def letters(captions):
        return np.array([[caption.count("b"), caption.count("e")] for caption in captions], dtype=float)

    with pytest.raises(ValueError, match=r"^predictions\[0\]\[0\]: expected an embedding that is not all zeros"):
        load("trm_bert").compute(**ONE_SIDED, encoder=letters)


@pytest.mark.parametrize("name", ["mmd_bert", "fid_bert"])
def test_pooled_adds_one_key(name):
    module = load(name, encoder=bag_of_words)
    plain, pooled = module.compute(**ROWS), module.compute(**ROWS, pooled=True)
    assert set(pooled) - set(plain) == {f"{name}_pooled"}
    corpus = {column: [[caption for row in rows for caption in row]] for column, rows in ROWS.items()}
    assert pooled[f"{name}_pooled"] == pytest.approx(module.compute(**corpus)[name], abs=1e-12)


@pytest.mark.parametrize(
    ("option", "values"), [("sigma", ["median", "mean", 0.7, 2]), ("estimator", ["unbiased", "biased", "authors"])]
)
def test_options_of_mmd_reach_rows_pool_and_signature(option, values):
    module, seen = load("mmd_bert", encoder=bag_of_words, pooled=True, details=True), set()
    corpus = {column: [[caption for row in rows for caption in row]] for column, rows in ROWS.items()}
    for value in values:
        result = module.compute(**corpus, **{option: value})
        assert result["mmd_bert"] == pytest.approx(result["mmd_bert_pooled"], abs=1e-12)
        assert f"{option}:{value}|" in result["signature"]
        seen.add(round(result["mmd_bert"], 9))
    assert len(seen) == len(values)


def test_right_captions_beat_wrong_ones_and_variety_beats_repetition():
    wrong = {**ROWS, "references": ROWS["references"][1:] + ROWS["references"][:1]}
    for name in NAMES:
        module = load(name)
        assert module.compute(**ROWS)[name] < module.compute(**wrong)[name], name
        if name != "fid_bert":
            repeated = {**ROWS, "predictions": [row[:1] * len(row) for row in ROWS["predictions"]]}
            assert module.compute(**ROWS)[name] < module.compute(**repeated)[name], name
