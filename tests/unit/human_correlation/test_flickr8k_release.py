"""The released files of Flickr8k-Expert, and the correlations that are published for them."""

import gzip
import pathlib
import re

import pytest

from manycaps import command_line
from manycaps.human_correlation.flickr8k_release import crowd_rows, expert_rows, read_captions
from tests.each_case import each_case
from tests.large_packages import OnFirstUse
from tests.refusals import assert_refused

protocols = OnFirstUse("manycaps.human_correlation.protocols")

METRICS = pathlib.Path(__file__).resolve().parents[3] / "metrics"

CAPTIONS = (
    "one.jpg#0\tA dog .\none.jpg#1\tThe\u2028dog .\ntwo.jpg.1#0\tA cat \x0c sits .\ntwo.jpg#1\tA \u00e9clair .\n"
    "two.jpg#2\tA cat .\n"
)
JUDGEMENTS = "one.jpg\ttwo.jpg#0\t1\t1\t2\none.jpg\ttwo.jpg#1\t1\t3\t2\ntwo.jpg\ttwo.jpg#2\t4\t4\t3\n"


@pytest.fixture
def release(tmp_path):
    (tmp_path / "Flickr8k.token.txt").write_text(CAPTIONS, encoding="utf-8")
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


@each_case(
    ("text", "message"),
    [
        (
            JUDGEMENTS + "one.jpg\ttwo.jpg#9\t1\t1\t1\n",
            "line 4: expected an image and a caption of Flickr8k.token.txt and ratings from 1 to 4, got 'one.jpg two",
        ),
        ("one.jpg\ttwo.jpg#0\t1\t1\t5\n", "got 'one.jpg two.jpg#0 1 1 5'. Take the files as"),
    ],
)
def test_messages(release, text, message):
    (release / "ExpertAnnotations.txt").write_text(text)
    assert_refused(ValueError, f".*{message}", expert_rows, release)


def printed(capsys, folder, *options):
    command = ["--benchmark", "flickr8k-expert", "--data", str(folder), *options]
    code = command_line.main(["human-correlation", *command])
    captured = capsys.readouterr()
    return code, [line.split() for line in captured.out.splitlines()], captured.err


def test_the_command_reads_a_release(release, capsys):
    code, lines, _ = printed(capsys, release, "--metric", str(METRICS / "trm_cider"), "--key", "cider_d")
    assert code == 0
    assert lines[0] == "cider_d on flickr8k-expert, in percent".split()
    assert [line[2] for line in lines[2:4]] == ["43.6", "43.9"]
    assert lines[4:] == [["n_rows", "2"], ["n_judgements", "6"]], "the third candidate is one of its references"
    (release / "Flickr8k.token.txt").unlink()
    code, lines, error = printed(capsys, release, "--metric", str(METRICS / "trm_cider"), "--key", "cider_d")
    assert (code, lines) == (1, [])
    assert error.startswith(f"{release}: expected Flickr8k.token.txt or Flickr8k.token.txt.gz, got neither.")


def test_a_metric_that_lacks_a_package_names_its_extra(release, capsys, monkeypatch):
    def load(*arguments, **options):
        raise ImportError("To be able to use it, you need to install the following dependencies['open_clip'].")

    monkeypatch.setattr(protocols.evaluate, "load", load)
    code, _, error = printed(capsys, release, "--metric", str(METRICS / "pac_score"))
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
    code, lines, error = printed(capsys, data_folder, "--metric", str(METRICS / metric), "--key", key)
    assert code == 0, error
    assert [line[1:4] for line in lines[2:6]] == [tau_b, tau_c, ["5664"], ["16992"]]
    assert " ".join(" ".join(line) for line in lines[6:]) == published


def test_a_metric_of_candidates_is_read_by_its_key(release, capsys):
    options = ("--metric", str(METRICS / "human_parity"), "--options", '{"distance": "meteor", "p_value": "none"}')
    code, lines, _ = printed(capsys, release, *options, "--key", "distance", "--lower-is-better")
    assert code == 0
    nearer = [float(line[1]) for line in lines[2:4]]
    code, lines, _ = printed(capsys, release, *options, "--key", "distance")
    assert [float(line[1]) for line in lines[2:4]] == [-value for value in nearer] != [0, 0]
    code, _, error = printed(capsys, release, *options)
    assert code == 2
    assert "--key: expected one of" in error
    assert re.search(r", distance(_\w+|, \w+)*, got None\. Check the spelling\.", error)
