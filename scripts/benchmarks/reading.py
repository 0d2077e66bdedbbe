"""Reading of 1,000,000 captions, five of each image, from each kind of table: time and memory, in a process of its own.

Captions are ten random words. Tables of lists have a row for each image, tables of single captions a row for each
caption, which are joined by their ids.
"""

from collections.abc import Iterator

from scripts.benchmarks.timing import Comparison, alone

N_IMAGES, N_CAPTIONS = 200_000, 5

# Seconds and GiB that each may take.
SECONDS, GIBIBYTES = 120, 1

# Sizes of a run that shows only that the suite works (--small).
SMALL = {"N_IMAGES": 20}

# Writes a table in the layout that its arguments say, and reads it.
PROGRAM = """
import csv, itertools, json, pathlib, random, sys, tempfile, time
import pyarrow as pa, pyarrow.parquet as pq
from manycaps.files.caption_tables import good_rows, open_source
n_images, n_captions, kind, are_lists = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "lists"
draw = random.Random(0)
words = [f"w{i}" for i in range(1_000)]
def rows():
    for image in range(n_images):
        captions = [" ".join(draw.choices(words, k=10)) for _ in range(n_captions)]
        if are_lists:
            yield {"image_id": f"{image}.jpg", "captions": captions}
        else:
            yield from ({"image_id": f"{image}.jpg", "captions": text} for text in captions)
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / f"captions.{kind}"
    if kind == "parquet":
        schema = pa.schema({"image_id": pa.string(), "captions": pa.list_(pa.string()) if are_lists else pa.string()})
        with pq.ParquetWriter(path, schema) as writer:
            table = rows()
            while part := list(itertools.islice(table, 50_000)):
                writer.write_table(pa.Table.from_pylist(part, schema))
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            if kind == "csv":
                writer.writerow(["image_id", *(f"caption_{k}" for k in range(n_captions))] if are_lists else
                                ["image_id", "caption"])
            for row in rows():
                if kind == "csv":
                    writer.writerow([row["image_id"], *(row["captions"] if are_lists else [row["captions"]])])
                else:
                    file.write(json.dumps(row) + "\\n")
    start = time.perf_counter()
    n_read = sum(len(row.predictions) for row in good_rows(open_source([str(path)]).rows()))
    seconds = time.perf_counter() - start
    assert n_read == n_images * n_captions
print(seconds)
"""


def comparisons() -> Iterator[Comparison]:
    """Yield time and memory of each kind of table."""
    for kind in ("jsonl", "csv", "parquet"):
        for form in ("lists", "singles"):
            name = f"{N_IMAGES * N_CAPTIONS:,} captions from .{kind}, {form}"
            yield from alone(name, PROGRAM, [str(N_IMAGES), str(N_CAPTIONS), kind, form], SECONDS, GIBIBYTES)
