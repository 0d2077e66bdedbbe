"""Benchmarks in the formats of their releases: small made files, the command, bad files, published values."""

import gzip
import json
import math
import pathlib
import re

import numpy as np
import pytest
import scipy.io

from manycaps.commands import command_line
from manycaps.human_correlation import abstract_50s
from manycaps.human_correlation.abstract_50s import abstract_50s_rows
from manycaps.human_correlation.benchmark_rows import check_references
from manycaps.human_correlation.benchmarks import BENCHMARKS
from manycaps.human_correlation.coco_systems import system_rows
from manycaps.human_correlation.flickr8k_release import crowd_rows, expert_rows, read_captions
from manycaps.human_correlation.protocol_figures import (
    judge_correlations,
    paragraph_choice,
    ranking_table,
    system_scores,
)
from manycaps.human_correlation.published_values import PUBLISHED
from manycaps.human_correlation.video_benchmarks import (
    activitynet_foil_rows,
    close_references,
    vatex_eval_rows,
    video_value,
)
from tests.large_packages import OnFirstUse
from tests.modules.sample_inputs import small_checkpoint
from tests.refusals import assert_refused

protocols = OnFirstUse("manycaps.human_correlation.protocols")

CAPTIONS = ["a dog", "a dog runs on the sand", "two dogs run", "a cat sleeps"]


def by_length(rows, captions):
    """A metric: the letters of a caption."""
    return np.array([float(len(caption)) for caption in captions])


def write_vatex(folder):
    (folder / "videos").mkdir()
    generator = np.random.default_rng(0)
    for video in ("one", "two"):
        np.save(folder / "videos" / f"{video}.npy", generator.normal(size=(6, 24)).astype(np.float32))
    np.save(folder / "candidates_list.npy", np.array(CAPTIONS))
    np.save(folder / "gts_list.npy", np.array([[f"a {name} {i}" for i in range(9)] for name in CAPTIONS]))
    np.save(folder / "human_scores.npy", np.array([1.0, 5, 3, 2, 1, 4, 3, 2, 2, 5, 4, 1]))
    np.save(folder / "video_ids.npy", np.array(["one", "one", "two", "two"]))
    return folder


@pytest.fixture
def vatex(tmp_path):
    return write_vatex(tmp_path)


def test_rows_of_vatex_eval(vatex):
    rows = vatex_eval_rows(vatex)
    assert [row["cand"] for row in rows] == CAPTIONS
    assert [row["human_score"] for row in rows] == [[1, 1, 2], [5, 4, 5], [3, 3, 4], [2, 2, 1]]
    assert rows[2]["video"] == str(vatex / "videos" / "two.npy")
    assert len(rows[0]["refs"]) == 9


def test_each_judge_is_compared_alone(vatex):
    found = judge_correlations(vatex_eval_rows(vatex), by_length).figures
    # Two captions have 12 letters. Of 5 pairs that are left two judges order 5 as the letters do, the third one 4.
    assert (found["n_rows"], found["n_judgements"]) == (4, 12)
    assert found["tau_b"] == pytest.approx(100 * np.mean([5, 5, 3]) / math.sqrt(30))
    ranks = [[1, 4, 3, 2], [1, 4, 3, 2], [2, 4, 3, 1]]
    expected = [np.corrcoef([1, 4, 2.5, 2.5], judge)[0, 1] for judge in ranks]
    assert found["spearman"] == pytest.approx(100 * np.mean(expected))


def test_scores_are_rounded_before_they_are_ranked(vatex):
    def nearly_equal(rows, captions):
        return np.array([0.5, 0.50001, 0.50002, 0.6])

    rows = vatex_eval_rows(vatex)
    rounded = judge_correlations(rows, lambda *_: np.array([0.5, 0.5, 0.5, 0.6]))
    assert judge_correlations(rows, nearly_equal).figures == rounded.figures


def run(capsys, *arguments):
    status = command_line.main(["human-correlation", *map(str, arguments)])
    return status, capsys.readouterr()


def emscore_options():
    return ("--option", f"checkpoint={small_checkpoint()}", "--option", "device=cpu")


@pytest.mark.parametrize(
    ("more", "published"),
    [((), "25.1"), (("--config", "references", "--key", "combined_emscore_pac", "--references", 1), "31.4")],
    ids=["none", "one"],
)
def test_vatex_eval_by_the_command(vatex, capsys, more, published):
    common = ("--benchmark", "vatex-eval", "--metric", "emscore_pac", "--data", vatex, *emscore_options())
    status, printed = run(capsys, *common, *more)
    assert status == 0, printed.err
    (line,) = (line for line in printed.out.splitlines() if line.startswith("tau_b"))
    assert line.split()[2] == published


NO_ARRAY = "expected an array without objects, got"
OBJECTS = np.array([["a"], None], dtype=object)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda path: path("gts_list").rename(path("gts_list").with_suffix(".pkl")),
            f"{NO_ARRAY} gts_list.pkl, which can run code. Convert the release",
        ),
        (lambda path: np.save(path("gts_list"), OBJECTS, allow_pickle=True), f"{NO_ARRAY} ValueError"),
        (lambda path: np.save(path("human_scores"), np.ones(4)), "expected 3 finite numbers for each of the 4"),
    ],
    ids=["pickle", "objects", "judges"],
)
def test_bad_files_of_vatex_eval(tmp_path, change, message):
    folder = write_vatex(tmp_path)
    change(lambda name: folder / f"{name}.npy")
    assert_refused(ValueError, f".*{message}", vatex_eval_rows, folder)


def test_too_many_references_and_unequal_judges(vatex):
    rows = vatex_eval_rows(vatex)
    message = "--references: expected at most 9, the references of row 0, got 10. Give"
    assert_refused(ValueError, message, check_references, rows, 10)
    rows[2]["human_score"] = [1.0, math.nan, 2.0]
    message = "human_score[2]: expected 3 judgements as in row 0, got [1.0, nan"
    assert_refused(ValueError, message, judge_correlations, rows, by_length)


def test_frame_features_with_objects_are_not_loaded(tmp_path):
    np.save(tmp_path / "v.npy", np.array([None]), allow_pickle=True)
    message = ".*expected an array of frame features, got ValueError"
    assert_refused(ValueError, message, video_value, str(tmp_path / "v.npy"))


def test_segments_of_frame_features(tmp_path):
    path = str(tmp_path / "v.npy")
    np.save(path, np.arange(10.0)[:, None])
    assert video_value(path, (0.25, 0.6)).ravel().tolist() == [2, 3, 4, 5]
    assert video_value(path, (0.99, 1.0)).ravel().tolist() == [9]
    assert video_value(path, (1.0, 1.0)).ravel().tolist() == [9]
    assert video_value("v.mp4", (0.25, 0.5)) == "v.mp4"


RIGHT = {"v1": ["a dog runs", "it sleeps"], "v2": ["a man cooks"]}
RIGHT_FILE, FOIL_FILE = "final_right_video_sentences.json", "final_foil_video_sentences.json"
FIRST_FILE, SECOND_FILE = "anet_entities_test_1.json", "anet_entities_test_2.json"
FOIL = {"v1": ["a cat", "it sleeps"], "v2": ["a man cooks fish"]}


@pytest.fixture
def activitynet(tmp_path):
    times = {"v1": [[0, 10], [10, 20]], "v2": [[0, 5]]}
    references = {"v1": ["a dog", "a nap", "all day"], "v2": ["a cook"]}
    reference_times = {"v1": [[0, 9], [11, 20], [40, 50]], "v2": [[90, 95]]}

    def sentences(texts):
        return {"results": {video: [{"sentence": text} for text in own] for video, own in texts.items()}}

    def segments(texts, times):
        return {v: {"duration": 20.0, "timestamps": own, "sentences": texts[v]} for v, own in times.items()}

    files = {
        RIGHT_FILE: sentences(RIGHT),
        FOIL_FILE: sentences(FOIL),
        FIRST_FILE: segments(RIGHT, times),
        SECOND_FILE: segments(references, reference_times),
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "videos").mkdir()
    for video in RIGHT:
        np.save(tmp_path / "videos" / f"{video}.npy", np.random.default_rng(len(video)).normal(size=(8, 24)))
    return tmp_path


def test_rows_of_activitynet_foil(activitynet):
    first, second = activitynet_foil_rows(activitynet)
    assert (first["id"], first["better"], first["worse"]) == ("v1", RIGHT["v1"], FOIL["v1"])
    assert first["refs"] == [["a dog"], ["a nap"]]
    assert second["refs"] == [["a cook"]]  # none is of that time: all count
    assert first["parts"] == [(0.0, 0.5), (0.5, 1.0)]
    assert first["videos"] == [str(activitynet / "videos" / "v1.npy")] * 2
    (activitynet / "videos" / "v1.npy").unlink()
    assert activitynet_foil_rows(activitynet)[0]["videos"][1] == str(activitynet / "videos" / "v1_seg_1.mp4")


def test_references_by_their_share_that_is_covered():
    # Of the 11 seconds of the second one 4 are covered, of the third one 5.
    assert close_references([0, 10], [[0, 10], [7, 17], [6, 16]]) == [0, 2]


def test_a_paragraph_is_the_mean_of_its_sentences(activitynet):
    rows = activitynet_foil_rows(activitynet)
    assert paragraph_choice(rows, by_length).figures == {"accuracy": 50.0, "n_rows": 2}
    assert paragraph_choice(rows, lambda rows, captions: np.ones(len(captions))).figures["accuracy"] == 50.0


@pytest.mark.parametrize(
    ("more", "published"),
    [((), "90.1"), (("--config", "references", "--key", "combined_emscore_pac"), "93.5")],
    ids=str,
)
def test_activitynet_foil_by_the_command(activitynet, capsys, more, published):
    common = ("--benchmark", "activitynet-foil", "--metric", "emscore_pac", *emscore_options())
    status, printed = run(capsys, *common, "--data", activitynet, *more)
    assert status == 0, printed.err
    assert f" {published} " in printed.out
    assert "n_rows           2" in printed.out


def test_foil_sentences_stand_beside_right_ones(activitynet):
    (activitynet / FOIL_FILE).write_text(json.dumps({"results": {"v1": []}}))
    message = ".*expected as many foil sentences as right ones (2)"
    assert_refused(ValueError, message, activitynet_foil_rows, activitynet)


def write_triplets(path, triplets):
    """Write the structure of the release: text in a structure of one field."""
    text = [("d", object)]
    kind = [("A", object), ("B", object), ("C", object), ("winner", object)]
    array = np.zeros((1, len(triplets)), dtype=kind)
    for i, (*texts, winner) in enumerate(triplets):
        array[0, i] = (*(np.array([[(t,)]], dtype=text) for t in texts), np.array([[winner]]))
    scipy.io.savemat(path, {"triplets": array})


def test_rows_of_abstract_50s(tmp_path):
    path = tmp_path / "consensus_abstract.mat"
    write_triplets(
        path,
        [
            ("a boy", "the boy plays", "a girl sits", 1),
            ("a child", "the boy plays", "a girl sits", 1),
            ("a ball", "the boy plays", "a girl sits", -1),
            ("a tree", "an owl", "the old tree", -1),
            ("a dog", "one dog", "two dogs", 1),
            ("dogs", "one dog", "two dogs", -1),
        ],
    )
    rows = abstract_50s_rows(path)
    assert [(row["better"], row["worse"], row["is_tie"]) for row in rows] == [
        ("the boy plays", "a girl sits", False),
        ("the old tree", "an owl", False),
        ("one dog", "two dogs", True),
    ]
    assert rows[0]["refs"] == ["a boy", "a child", "a ball"]
    assert {row["category"] for row in rows} == {"HC"}
    found = protocols.choice(rows, BENCHMARKS["abstract-50s"], by_length, seed=0).figures
    assert found["accuracy"] == pytest.approx(100 * (1 + 1 + 0.5) / 3)


def test_a_file_of_abstract_50s_that_ends_its_reader(tmp_path, monkeypatch):
    (tmp_path / "crashing.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(abstract_50s, "MODULE_NAME", "crashing")
    message = "'.*a.mat': expected triplets .*, got a crash of scipy (-9). Take conse"
    assert_refused(ValueError, message, abstract_50s_rows, tmp_path / "a.mat")


def test_abstract_50s_by_the_command(tmp_path, capsys):
    path = tmp_path / "consensus_abstract.mat"
    choices = [("the boy plays ball", "a girl sits"), ("an owl", "the old tree")]
    write_triplets(path, [(f"a boy plays {i}", *pair, 1 - 2 * k) for k, pair in enumerate(choices) for i in range(6)])
    arguments = ("--benchmark", "abstract-50s", "--metric", "trm_cider", "--key", "cider_d")
    status, printed = run(capsys, *arguments, "--data", tmp_path)
    assert status == 0, printed.err
    assert "accuracy" in printed.out
    status, printed = run(capsys, *arguments[:3], "pac_score", *emscore_options(), "--data", tmp_path)
    assert status
    assert printed.err.startswith("--data: expected the column img for a metric of images, got rows without it. Give a")


def test_a_triplet_of_two_choices(tmp_path):
    path = tmp_path / "consensus_abstract.mat"
    write_triplets(path, [("a", "b", "c", [1, -1])])
    message = ".*expected triplets of sentences and a choice, got ValueError (2 values in place of one)"
    assert_refused(ValueError, message, abstract_50s_rows, path)


@pytest.fixture
def systems(tmp_path):
    annotations = [{"image_id": i, "caption": text} for i, text in enumerate(CAPTIONS)]
    images = [{"id": i, "file_name": f"{i}.png"} for i in range(3)]
    (tmp_path / "captions.json").write_text(json.dumps({"annotations": annotations, "images": images}))
    for name, texts in (("vinvl", CAPTIONS), ("up_down", ["a"] * 4), ("own", ["b" * 40] * 4)):
        entries = [{"image_id": i, "caption": text} for i, text in enumerate(texts)]
        (tmp_path / f"{name}.json").write_text(json.dumps(entries[::-1] if name == "own" else entries))
    return tmp_path


def test_systems_are_ranked(systems):
    rows = system_rows(systems)
    assert set(rows) == {"vinvl", "up_down", "own"}
    assert rows["vinvl"][2] | {"img": None} == {"img": None, "cand": CAPTIONS[1], "refs": [CAPTIONS[1]]}
    assert [row["refs"] for row in rows["own"]] == [row["refs"] for row in rows["vinvl"]]
    assert pathlib.Path(rows["own"][0]["img"]).parent.name == "images"
    table = ranking_table(system_scores(rows, by_length), "pac_score").splitlines()
    assert [line.split()[0] for line in table[1:4]] == ["own", "vinvl", "up_down"]
    assert table[2].split()[2] == "0.821"
    assert table[-1] == "tau_b with the published scores of 2 systems: 1.00"


def test_systems_by_the_command(systems, capsys):
    common = ("--benchmark", "coco-systems", "--metric", "trm_cider", "--key", "cider_d")
    status, printed = run(capsys, *common, "--data", systems)
    assert status == 1
    assert "expected at least 3 captions in all" in printed.err
    status, printed = run(capsys, *common)
    assert status
    assert printed.err.strip() == "--data: expected the folder of the benchmark's files, got none. See --help."


def test_systems_beside_a_number_of_references(systems, capsys):
    command = ("--benchmark", "coco-systems", "--metric", "bleu_rouge", "--key", "rouge_l", "--data", systems)
    status, printed = run(capsys, *command, "--references", 1)
    assert status == 0, printed.err
    assert printed.out.startswith("rouge_l of 3 systems, by 1 of the references\n")
    status, printed = run(capsys, *command, "--references", 2)
    assert printed.err.endswith(
        "--references: expected at most 1, the references of row 0, got 2. Give a smaller number.\n"
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("vinvl.json", [{"image_id": 0, "caption": "a"}] * 2, "vinvl.json': expected one caption of each image"),
        ("vinvl.json", [{"image_id": 0, "caption": "a"}], "expected captions of the 4 images of own.json"),
    ],
)
def test_bad_files_of_systems(systems, name, content, message):
    (systems / name).write_text(json.dumps(content))
    assert_refused(ValueError, f".*{message}", system_rows, systems)


def test_published_values_name_benchmarks():
    places = {place.split()[0] for values in PUBLISHED.values() for place in values}
    assert places <= set(BENCHMARKS)
    assert {"vatex-eval", "abstract-50s", "activitynet-foil"} <= places


# The released files of Flickr8k-Expert, and the correlations that are published for them.

METRICS = pathlib.Path(__file__).resolve().parents[3] / "metrics"

CAPTIONS_OF_FLICKR8K = (
    "one.jpg#0\tA dog .\none.jpg#1\tThe\u2028dog .\ntwo.jpg.1#0\tA cat \x0c sits .\ntwo.jpg#1\tA \u00e9clair .\n"
    "two.jpg#2\tA cat .\n"
)
JUDGEMENTS = "one.jpg\ttwo.jpg#0\t1\t1\t2\none.jpg\ttwo.jpg#1\t1\t3\t2\ntwo.jpg\ttwo.jpg#2\t4\t4\t3\n"


@pytest.fixture
def release(tmp_path):
    (tmp_path / "Flickr8k.token.txt").write_text(CAPTIONS_OF_FLICKR8K, encoding="utf-8")
    (tmp_path / "ExpertAnnotations.txt").write_text(JUDGEMENTS)
    return tmp_path


def test_rows_of_a_release(release):
    rows = expert_rows(release)
    assert rows[0] == {
        "img": str(release / "one.jpg"),
        "cand": "A cat \x0c sits .",
        "refs": ["A dog .", "The\u2028dog ."],
        "human_score": [1.0, 1.0, 2.0],
    }
    assert rows[2]["refs"] == ["A cat \x0c sits .", "A \u00e9clair .", "A cat ."]
    (release / "Flicker8k_Dataset").mkdir()
    assert expert_rows(release)[0]["img"] == str(release / "Flicker8k_Dataset" / "one.jpg")


def test_rows_of_the_crowd(release):
    (release / "CrowdFlowerAnnotations.txt").write_text("one.jpg\ttwo.jpg#2\t0.66666667\t2\t1\n")
    expected = {"img": str(release / "one.jpg"), "cand": "A cat .", "refs": ["A dog .", "The\u2028dog ."]}
    assert crowd_rows(release) == [{**expected, "human_score": [1.0, 1.0, 0.0]}]
    for fields in ("0\t0\t0", "0.5\t1\t-1", "0.5\tone\t1", "0.5\t1000\t1"):
        (release / "CrowdFlowerAnnotations.txt").write_text(f"one.jpg\ttwo.jpg#2\t{fields}\n")
        message = '.*line 1: expected an image .* and the numbers of "yes" and "no", got '
        assert_refused(ValueError, message, crowd_rows, release)


def test_captions_may_be_compressed(release):
    path = release / "Flickr8k.token.txt"
    (release / "Flickr8k.token.txt.gz").write_bytes(gzip.compress(path.read_bytes()))
    plain = read_captions(release)
    path.unlink()
    assert read_captions(release) == plain
    assert list(plain)[2] == "two.jpg#0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (JUDGEMENTS + "one.jpg\ttwo.jpg#9\t1\t1\t1\n", "line 4: expected an image and a caption of Flickr8k.token.tx"),
        ("one.jpg\ttwo.jpg#0\t1\t1\t5\n", "got 'one.jpg two.jpg#0 1 1 5'. Take the files as"),
    ],
)
def test_messages(release, text, message):
    (release / "ExpertAnnotations.txt").write_text(text)
    assert_refused(ValueError, f".*{message}", expert_rows, release)


def run_command(capsys, folder, *options):
    code, printed = run(capsys, "--benchmark", "flickr8k-expert", "--data", folder, *options)
    return code, [line.split() for line in printed.out.splitlines()], printed.err


def test_the_command_reads_a_release(release, capsys):
    code, lines, _ = run_command(capsys, release, "--metric", str(METRICS / "trm_cider"), "--key", "cider_d")
    assert code == 0
    assert lines[0] == "cider_d on flickr8k-expert, in percent".split()
    assert [line[2] for line in lines[2:4]] == ["43.6", "43.9"]
    assert lines[4:] == [["n_rows", "2"], ["n_judgements", "6"]], "the third candidate is one of its references"
    (release / "Flickr8k.token.txt").unlink()
    code, lines, error = run_command(capsys, release, "--metric", str(METRICS / "trm_cider"), "--key", "cider_d")
    assert (code, lines) == (1, [])
    assert error.startswith(f"{release}: expected Flickr8k.token.txt or Flickr8k.token.txt.gz, got neither.")


def test_a_metric_that_lacks_a_package_names_its_extra(release, capsys, monkeypatch):
    def load(*arguments, **options):
        raise ImportError("To be able to use it, you need to install the following dependencies['open_clip'].")

    monkeypatch.setattr("evaluate.load", load)
    code, _, error = run_command(capsys, release, "--metric", str(METRICS / "pac_score"))
    assert code == 1
    assert error.endswith("dependencies['open_clip']. Run `pip install 'manycaps[clip]'`.\n")


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.parametrize(
    ("metric", "key", "tau_b", "tau_c", "published"),
    [
        ("trm_cider", "cider_d", ["43.60", "43.6", "+0.00"], ["43.89", "43.9", "-0.01"], ""),
        ("meteor15", "meteor15", ["41.54", "41.5", "+0.04"], ["41.82", "41.8", "+0.02"], ""),
        (
            "trm_meteor",
            "meteor",
            ["34.93", "-", "-"],
            ["35.13", "-", "-"],
            "published: tau_b 41.5, tau_c 41.8 (METEOR 1.5, the module meteor15; NLTK's METEOR is another metric)",
        ),
    ],
)
def test_the_published_correlations(data_folder, capsys, metric, key, tau_b, tau_c, published):
    code, lines, error = run_command(capsys, data_folder, "--metric", str(METRICS / metric), "--key", key)
    assert code == 0, error
    assert [line[1:4] for line in lines[2:6]] == [tau_b, tau_c, ["5664"], ["16992"]]
    assert " ".join(" ".join(line) for line in lines[6:]) == published


def test_a_metric_of_candidates_is_read_by_its_key(release, capsys):
    options = ("--metric", str(METRICS / "human_parity"), "--option", "distance=meteor", "--option", "p_value=none")
    code, lines, _ = run_command(capsys, release, *options, "--key", "distance", "--lower-is-better")
    assert code == 0
    nearer = [float(line[1]) for line in lines[2:4]]
    code, lines, _ = run_command(capsys, release, *options, "--key", "distance")
    assert [float(line[1]) for line in lines[2:4]] == [-value for value in nearer] != [0, 0]
    code, _, error = run_command(capsys, release, *options)
    assert code == 2
    assert "--key: expected one of" in error
    assert re.search(r", distance(_\w+|, \w+)*, got None\. Check the spelling\.", error)
