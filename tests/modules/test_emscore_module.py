"""emscore_pac as a user meets it: kinds of video, references, weights, options, errors, work that is not repeated."""

import importlib.util
import pathlib
import threading
import time

import numpy as np
import PIL.Image
import pytest

from tests.large_packages import datasets, evaluate
from tests.modules.sample_inputs import clip_options
from tests.video_clips import LOSSLESS, noise, write_clip

CAPTIONS = [["a red square", "two dogs on a beach"], ["a dog"], [""], ["sea and sand", "a cat"]]
REFERENCES = [["a square"], ["one dog", "a puppy in the sun"], ["a wood"], ["the sea", "water", "a cat"]]
CLIPS = [noise(5, 40, 50, seed=1), noise(1, 40, 50, seed=2), noise(9, 30, 30, seed=3), noise(2, 40, 50, seed=4)]
COLUMNS = {"predictions": CAPTIONS, "videos": CLIPS}
BOTH = COLUMNS | {"references": REFERENCES}
NAMES = ["emscore_pac", "full_precision", "full_recall", "coarse", "fine_precision", "fine_recall", "fine_f"]
# Sums in another order, in float32; a small P + R makes the difference in F larger.
TOLERANCE = 1e-5


def load(*names, **options):
    return evaluate.load("emscore_pac", *names, **clip_options() | {"details": True} | options)


@pytest.fixture(scope="module")
def loaded_modules():
    return {name: load(name) for name in ("default", "references")}


@pytest.fixture(scope="module")
def expected_result(loaded_modules):
    return loaded_modules["default"].compute(**COLUMNS)


@pytest.fixture
def module(loaded_modules, expected_result):
    """The module without references, which remembers nothing of other tests."""
    loaded_modules["default"].encoder.forget()
    return loaded_modules["default"]


@pytest.fixture
def with_references(loaded_modules):
    """The same with references."""
    loaded_modules["references"].encoder.forget()
    return loaded_modules["references"]


def helper(module, name):
    return importlib.import_module(f"{type(module).__module__.rsplit('.', 1)[0]}.{name}")


def pixels_of(module, clip):
    """The frames of a clip as the module's model sees them."""
    video_input = helper(module, "videos")
    size = module.encoder.model.image_size
    return list(video_input.read_pixels(video_input.FrameList(clip), "all", size, "", 1))


def assert_same(result, expected, names=NAMES):
    for name in names:
        assert result[f"{name}_per_row"] == pytest.approx(expected[f"{name}_per_row"], abs=TOLERANCE), name


def test_keys(module, with_references):
    assert list(module.compute(**COLUMNS, details=False)) == [*NAMES, "n_rows", "n_truncated"]
    result = with_references.compute(**BOTH, details=False)
    names = [prefix + name for prefix in ("", "reference_", "combined_") for name in NAMES]
    assert list(result) == [*names, "n_rows", "n_truncated"]
    assert all(type(value) in (float, int) for value in result.values())


def test_reference_aggregation(with_references):
    authors = with_references.compute(**BOTH)
    equation = with_references.compute(**BOTH, reference_aggregation="equation_8")
    assert authors["reference_fine_precision_per_row"] != equation["reference_fine_precision_per_row"]
    assert authors["signature"].endswith("|reference_aggregation:authors")
    assert equation["signature"].endswith("|reference_aggregation:equation_8")


def test_every_kind_of_video_gives_the_same(module, expected_result, tmp_path):
    paths = [str(write_clip(tmp_path / f"{i}.mkv", clip, **LOSSLESS)) for i, clip in enumerate(CLIPS)]
    column = datasets.Dataset.from_dict({"video": paths}).cast_column("video", datasets.Video(decode=False))
    frames = datasets.Dataset.from_dict({"frames": CLIPS}, datasets.Features({"frames": [datasets.Image()]}))
    model = module.encoder.model
    features = [3.0 * model.image_features(np.stack(pixels_of(module, clip))) for clip in CLIPS]
    for videos in (
        paths,
        (path for path in paths),
        [pathlib.Path(path).read_bytes() for path in paths],
        column["video"],
        column.with_format("arrow")["video"],
        frames["frames"],
        [np.stack(clip) for clip in CLIPS],
        features,
        [paths[0], CLIPS[1], features[2], column[3]["video"]],
    ):
        assert_same(module.compute(predictions=CAPTIONS, videos=videos), expected_result)


def test_some_frames(module):
    chosen = [[clip[i] for i in np.linspace(0, len(clip) - 1, 3).astype(int)] for clip in CLIPS]
    expected = module.compute(predictions=CAPTIONS, videos=chosen)
    result = module.compute(**COLUMNS, frames=3)
    assert_same(result, expected)
    assert f"|scaling:pillow-{PIL.__version__}|frames:3|decoder:av-" in result["signature"]
    features = [np.random.default_rng(i).standard_normal((len(clip), 24)) for i, clip in enumerate(CLIPS)]
    ready = [rows[np.linspace(0, len(rows) - 1, 3).astype(int)] for rows in features]
    assert_same(
        module.compute(predictions=CAPTIONS, videos=features, frames=3),
        module.compute(predictions=CAPTIONS, videos=ready),
    )


def test_rows_added_before_have_the_frames_of_load_time():
    module = load(frames=2)
    module.add_batch(**COLUMNS)
    with pytest.raises(ValueError, match="^frames: expected 2, as for the rows added before, got 'all'"):
        module.compute(frames="all")
    added = module.compute()
    whole = module.compute(**COLUMNS, frames="all")
    assert whole["signature"] != added["signature"]
    module.add_batch(**COLUMNS)  # the options of the compute before are forgotten
    assert module.compute() == added


def test_each_distinct_video_and_text_is_read_once(module, tmp_path, monkeypatch):
    decoded, encoded, texts = [], [], []
    features, model = helper(module, "clip_emscore"), module.encoder.model
    read, encode, encode_texts = features.read_pixels, model.image_features, model.token_features
    monkeypatch.setattr(features, "read_pixels", lambda source, *rest: decoded.append(1) or read(source, *rest))
    monkeypatch.setattr(model, "image_features", lambda pixels: encoded.append(len(pixels)) or encode(pixels))
    monkeypatch.setattr(model, "token_features", lambda new, *rest: texts.extend(new) or encode_texts(new, *rest))
    path = write_clip(tmp_path / "clip.mkv", CLIPS[0], **LOSSLESS)
    videos = [str(path), CLIPS[1], path, path.read_bytes(), CLIPS[1], np.stack(CLIPS[1])]
    for start in (0, 3):
        module.add_batch(predictions=["a dog"] * 3, videos=videos[start : start + 3])
    first = module.compute()
    assert (len(decoded), sum(encoded), len(texts)) == (2, 6, 1)
    assert module.compute(predictions=["a dog"] * 6, videos=videos) == first
    assert (len(decoded), sum(encoded), len(texts)) == (2, 6, 1)
    module.compute(predictions=["a dog", *["a cat"] * 5], videos=videos)  # another system on the same videos
    assert (len(decoded), sum(encoded), len(texts)) == (2, 6, 2)
    module.compute(predictions=["a dog"], videos=[path], frames=2)
    assert (len(decoded), sum(encoded)) == (3, 8)
    module.encoder.forget()
    module.compute(predictions=["a dog"], videos=[path])
    assert (len(decoded), sum(encoded), len(texts)) == (4, 13, 3)


def test_a_decoded_column_without_torchcodec_says_what_is_missing(module, tmp_path):
    if importlib.util.find_spec("torchcodec"):
        pytest.skip("torchcodec is installed")
    path = str(write_clip(tmp_path / "clip.mkv", CLIPS[0], **LOSSLESS))
    column = datasets.Dataset.from_dict({"video": [path] * 2}).cast_column("video", datasets.Video())
    with pytest.raises(ImportError) as error:
        module.compute(predictions=["a dog"] * 2, videos=column["video"])
    assert str(error.value) == (
        "videos[0]: expected torchcodec for a decoded column of videos, got none. Run `pip "
        "install torchcodec`, or cast the column to datasets.Video(decode=False), which does without."
    )
    column = column.cast_column("video", datasets.Video(decode=False))
    assert module.compute(predictions=["a dog"] * 2, videos=column["video"])["n_rows"] == 2


def test_only_files_are_examined(module):
    for video, got in ((CLIPS[0], "a list of 5 frames"), (np.ones((3, 24)), "features of 3 frames")):
        with pytest.raises(TypeError) as error:
            module.examine_video(video)
        assert str(error.value) == (
            f"video: expected a video file (its path or bytes), got {got}. Count the frames themselves."
        )


def test_decoding_runs_beside_the_model_and_not_far_ahead(module, monkeypatch):
    features = helper(module, "clip_emscore")
    read, encode = features.read_pixels, module.encoder.model.image_features
    state = {"decoded": 0, "encoded": 0, "ahead": 0, "overlap": False, "busy": False}

    def count_frames(*arguments):
        for pixels in read(*arguments):
            state["decoded"] += 1
            state["overlap"] |= state["busy"] and threading.current_thread() is not threading.main_thread()
            yield pixels

    def slow(pixels):
        state["busy"] = True
        time.sleep(0.02)
        state["ahead"] = max(state["ahead"], state["decoded"] - state["encoded"])
        state["encoded"] += len(pixels)
        state["busy"] = False
        return encode(pixels)

    monkeypatch.setattr(features, "read_pixels", count_frames)
    monkeypatch.setattr(module.encoder.model, "image_features", slow)
    module.compute(predictions=["a dog"] * 2, videos=[noise(60, seed=8), noise(60, seed=9)], batch_size=4, n_workers=2)
    assert state["decoded"] == state["encoded"] == 120
    assert state["overlap"]
    # The queue, the batch at the model, and a frame in the hands of each thread.
    assert state["ahead"] <= (features.BATCHES_AHEAD + 1) * 4 + 2


def test_the_first_bad_row_is_the_error_however_threads_run(module, tmp_path, expected_result):
    clip = write_clip(tmp_path / "long.mkv", noise(40), **LOSSLESS).read_bytes()
    late, early = clip[: len(clip) * 9 // 10], b"not a video"
    for videos in ([CLIPS[0], late, early, CLIPS[3]], [CLIPS[0], late, None, CLIPS[3]]):
        for n_workers in (1, 4):
            with pytest.raises(ValueError, match=r"^videos\[1\]: expected a complete video, got .* at frame 3\d"):
                module.compute(predictions=CAPTIONS, videos=videos, n_workers=n_workers)
    assert threading.active_count() < 20
    assert_same(module.compute(**COLUMNS), expected_result)


def test_an_error_of_the_model_ends_all_threads(module, monkeypatch):
    def fail(pixels):
        raise ValueError("checkpoint: expected finite features, got NaN or infinity.")

    before = threading.active_count()
    with monkeypatch.context() as patch:
        patch.setattr(module.encoder.model, "image_features", fail)
        with pytest.raises(ValueError, match="^checkpoint: expected finite features"):
            module.compute(
                predictions=["a"] * 3, videos=[noise(50, seed=i) for i in range(3)], batch_size=2, n_workers=3
            )
    assert threading.active_count() == before
    assert module.compute(**COLUMNS)["n_rows"] == 4


def test_references_are_needed_where_they_are_announced(with_references):
    with pytest.raises(TypeError, match="^references: expected a list of rows"):
        with_references.compute(**COLUMNS)


def test_idf_of_references_else_of_candidates_else_of_a_table(module, with_references):
    candidates = module.compute(**COLUMNS, idf=True)
    assert "|idf:candidates|n_documents:6" in candidates["signature"]
    reference_result = with_references.compute(**BOTH, idf=True)
    assert "|idf:references|n_documents:7" in reference_result["signature"]
    assert candidates["fine_precision_per_row"] != reference_result["fine_precision_per_row"]
    assert candidates["fine_recall_per_row"] == pytest.approx(reference_result["fine_recall_per_row"], abs=TOLERANCE)
    assert "|idf:none|" in with_references.compute(**BOTH)["signature"]
    counts = {"a</w>": 4, "dog</w>": 1, "dogs</w>": 1, "red</w>": 1, "square</w>": 1, "two</w>": 1, "on</w>": 1}
    counts |= {"beach</w>": 1, "sea</w>": 1, "and</w>": 1, "sand</w>": 1, "cat</w>": 1}
    table = {"n_documents": 6, "document_frequency": counts}
    result = module.compute(**COLUMNS, idf=table)
    assert_same(result, candidates)
    assert "|idf:table|n_documents:6" in result["signature"]
    with pytest.raises(ValueError, match="^idf: expected captions that differ in their words, got 1 with the same"):
        module.compute(predictions=["a dog"], videos=CLIPS[:1], idf=True)
