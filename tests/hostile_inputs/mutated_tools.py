"""Files that the commands read, changed at random: tables of captions, released benchmarks, and folders of runs."""

import functools
import gzip
import io
import json
import pathlib
import random
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.hostile_inputs.rule import HOUSE_FORM

Files = dict[str, bytes]


def attempt_table(rng: random.Random) -> object:
    """Read a damaged file of captions of any kind, as the commands do."""
    from manycaps.caption_tables import good_rows, open_source

    name = rng.choice(sorted(_tables()))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        path.write_bytes(damaged(_tables()[name], rng))
        return list(good_rows(open_source([str(path)], either=True).rows()))


def attempt_release(rng: random.Random) -> object:
    """Read a released benchmark, or the data of METEOR 1.5, of which one file is damaged."""
    name = rng.choice(sorted(_releases()))
    files, read = _releases()[name]
    with tempfile.TemporaryDirectory() as folder:
        write_with_damage(pathlib.Path(folder), files, rng)
        return read(pathlib.Path(folder))


def attempt_run(rng: random.Random) -> object:
    """Go on with a run of `manycaps score` of which one file is damaged, or compare its scores."""
    from tests.hostile_inputs.commands import run_command

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(_scored_rows(), folder, dirs_exist_ok=True)
        scores = folder / "scores"
        damage_one(sorted(path for path in scores.rglob("*") if path.suffix), rng)
        line = ["score", *SCORE]
        if rng.random() < 0.5:
            line = ["compare", "scores", "other", "-o", "report", "--overwrite"]
        elif rng.random() < 0.5:
            (scores / "summary.json").unlink()
        status, printed = run_command(line, folder)
        last = printed.strip().splitlines()[-1] if printed.strip() else ""
        if status == 1 and HOUSE_FORM.fullmatch(last) and "Internal error" not in last:
            raise ValueError(last)
        if status:
            raise RuntimeError(f"status {status}: {printed[-500:]}")
        return last


# A run without other processes, in the folder of its input.
SCORE = "-m bleu_rouge,trm_cider -i rows.jsonl -o scores --processes 1".split()

ATTEMPTS: dict[str, Callable[[random.Random], object]] = {
    "tables": attempt_table,
    "releases": attempt_release,
    "runs": attempt_run,
}


def write_with_damage(folder: pathlib.Path, files: Files, rng: random.Random) -> None:
    """Write files, and damage one."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    damage_one([folder / name for name in sorted(files)], rng)


def damage_one(paths: list[pathlib.Path], rng: random.Random) -> None:
    """Damage one of several files; a compressed one before or behind the compression."""
    path = rng.choice(paths)
    content = path.read_bytes()
    if path.suffix == ".gz" and rng.random() < 0.5:
        path.write_bytes(gzip.compress(damaged(gzip.decompress(content), rng), mtime=0))
    else:
        path.write_bytes(damaged(content, rng))


@functools.cache
def _tables() -> Files:
    """A good file of captions of each kind."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    rows = [
        {"id": f"row {i}", "predictions": [f"a {word} runs", f"the {word}"], "references": [f"one {word}, too"]}
        for i, word in enumerate(("dog", "cat", "man", "train"))
    ]
    singles = pa.table({"id": ["a", "a", "b"], "caption": ["a dog", "a wet dog", 'a "cat", too'], "n": [1, 2, 3]})
    table, files = pa.Table.from_pylist(rows), {name: io.BytesIO() for name in ("parquet", "arrow", "csv", "tar")}
    pq.write_table(table, files["parquet"], row_group_size=2)
    with pa.ipc.new_stream(files["arrow"], table.schema) as writer:
        writer.write_table(table)
    pyarrow.csv.write_csv(singles, files["csv"])
    with tarfile.open(fileobj=files["tar"], mode="w") as archive:
        for i, row in enumerate(rows):
            for ending, content in (("json", json.dumps(row)), ("jpg", "no picture")):
                member = tarfile.TarInfo(f"{i:03}.{ending}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content.encode()))
    lines = "\n".join(map(json.dumps, rows)).encode()
    found = {f"captions.{name}": file.getvalue() for name, file in files.items()} | {
        "captions.jsonl": lines,
        "captions.json": json.dumps(rows).encode(),
        "captions.tsv": files["csv"].getvalue().replace(b",", b"\t"),
        "captions.txt": b"a dog\na wet dog\n\na cat\n",
    }
    return found | {f"{name}.gz": gzip.compress(found[name], mtime=0) for name in ("captions.jsonl", "captions.tar")}


@functools.cache
def _releases() -> dict[str, tuple[Files, Callable[[pathlib.Path], Any]]]:
    """The files of each release, and what reads them."""
    import scipy.io

    from manycaps.core_set.core_sets import load_scores
    from manycaps.human_correlation.abstract_50s import FILE_NAME, abstract_50s_rows
    from manycaps.human_correlation.coco_systems import system_rows
    from manycaps.human_correlation.flickr8k_release import CAPTIONS_NAME, JUDGEMENTS_NAME, expert_rows
    from manycaps.human_correlation.video_benchmarks import activitynet_foil_rows, vatex_eval_rows
    from tests.hostile_inputs.command_lines import activitynet, array, coco, vatex

    captions = "".join(f"{image}.jpg#{i}\ta dog {i}\n" for image in ("one", "two") for i in range(5)).encode()
    judgements = b"one.jpg\ttwo.jpg#0\t1\t1\t2\ntwo.jpg\ttwo.jpg#2\t4\t4\t3\n"
    triplets = np.array(
        [("a dog", "a puppy", "a cat", 1.0), ("a man", "a boy", "a tree", -1.0)],
        dtype=[("A", object), ("B", object), ("C", object), ("winner", object)],
    )
    consensus = io.BytesIO()
    scipy.io.savemat(consensus, {"triplets": triplets})
    programs = {jar: _meteor15_files(jar=jar) for jar in (False, True)}
    return {
        "flickr8k": ({CAPTIONS_NAME: captions, JUDGEMENTS_NAME: judgements}, expert_rows),
        "flickr8k_gz": (
            {f"{CAPTIONS_NAME}.gz": gzip.compress(captions, mtime=0), JUDGEMENTS_NAME: judgements},
            expert_rows,
        ),
        "coco": (coco([{"image_id": 1, "caption": "a dog"}]), system_rows),
        "activitynet": (activitynet(), activitynet_foil_rows),
        "vatex": (vatex(), vatex_eval_rows),
        "abstract": ({FILE_NAME: consensus.getvalue()}, lambda folder: abstract_50s_rows(folder / FILE_NAME)),
        "scores": ({"scores.npy": array(np.ones((8, 4)))}, lambda folder: load_scores(folder / "scores.npy", 8, 4)),
        "meteor15": (programs[False], _meteor15),
        "meteor15_jar": (programs[True], lambda folder: _meteor15(folder / "meteor-1.5.jar")),
    }


def _meteor15_files(*, jar: bool) -> Files:
    """The small data of METEOR 1.5, unpacked or as a jar."""
    from tests.meteor15_data import write_data, write_jar

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if jar:
            write_jar(folder)
            shutil.rmtree(folder / "unpacked")
        else:
            write_data(folder)
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _meteor15(source: pathlib.Path) -> object:
    """Compile damaged data, into a cache of its own, and score with it."""
    from tqdm import tqdm

    from manycaps.kit import meteor15_data, meteor15_scores

    with tempfile.TemporaryDirectory() as cache:
        usual = meteor15_data.table_folder
        meteor15_data.table_folder = lambda version: pathlib.Path(cache, version)
        try:
            data = meteor15_data.load_meteor15_data(source, functools.partial(tqdm, disable=True))
        finally:
            meteor15_data.table_folder = usual
        return meteor15_scores.scores(
            meteor15_scores.pair_statistics(
                [text.split() for text in ("the dog runs near a lot of films", "mice ran close to many puppies")],
                [0],
                [1],
                meteor15_data.Meteor15Lexicon(data),
            )
        )


@functools.cache
def _scored_rows() -> pathlib.Path:
    """A folder with rows and two finished runs."""
    from tests.hostile_inputs.command_lines import LINES
    from tests.hostile_inputs.commands import run_command

    folder = pathlib.Path(tempfile.mkdtemp(prefix="hostile-runs-"))
    (folder / "rows.jsonl").write_bytes(LINES)
    for output in ("scores", "other"):
        status, printed = run_command(["score", *SCORE, "-o", output], folder)
        assert status == 0, printed
    return folder


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Change a file in one to eight places."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        if not data:
            break
        start, length = rng.randrange(len(data)), rng.choice((1, 1, 2, 4, 8, 64, 500))
        kind = rng.randrange(7)
        if kind == 0:
            data[start] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[start : start + length] = rng.randbytes(length)
        elif kind == 2:
            del data[start : start + length]
        elif kind == 3:
            data[start:start] = data[start : start + length]
        elif kind == 4:
            data[start : start + length] = rng.choice((b"\0", b"\xff", b"\x7f")) * length
        elif kind == 5:
            del data[start:]
        else:
            data[start:start] = rng.choice((b"[", b"{", b'"', b"-1", b"9" * 50, b"null", b"\\ud800", b"1e999"))
    return bytes(data)
