"""Rows for `manycaps score`, their files, and what the modules themselves say of them."""

import json
import random

import pyarrow.dataset as ds

import manycaps
from tests.modules.sample_inputs import CAPTION_ROWS

POOL = sorted({caption for rows in CAPTION_ROWS.values() for row in rows for caption in row})


def caption_rows(n_rows, seed=0):
    """Rows of several sizes; every fifth has the captions of an earlier one."""
    generator = random.Random(seed)
    rows = []
    for i in range(n_rows):
        if i % 5 == 4:
            captions = generator.choice(rows)
        else:
            captions = {
                "predictions": generator.sample(POOL, generator.randint(2, 4)),
                "references": generator.sample(POOL, generator.randint(2, 3)),
            }
        rows.append({**captions, "id": f"row-{(7 * i) % n_rows:03}"})
    return rows


def flags(**options):
    """Options of modules as the command takes them."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    return [part for name, text in texts.items() for part in ("--option", f"{name}={text}")]


def sorted_rows(folder):
    return ds.dataset(folder / "rows").to_table().sort_by("id").to_pylist()


def without_lists(result):
    return {name: value for name, value in result.items() if not isinstance(value, list)}


def module_result(name, rows, **options):
    """The result of a module by itself."""
    columns = {side: [row[side] for row in rows] for side in ("predictions", "references")}
    columns["data"] = columns["predictions"]
    module = manycaps.load(name)
    return module.compute(**{column: columns[column] for column in module.OWN_COLUMNS}, details=True, **options)
