"""Records in every kind of table, as its usual library writes them."""

import io
import json
import tarfile

import pandas

from tests.tools import write_jsonl


def write_tar(path, samples):
    """Write samples, each a mapping from endings to texts under its name, and return the path."""
    with tarfile.open(path, "w") as archive:
        for name, members in samples.items():
            for ending, text in members.items():
                info = tarfile.TarInfo(f"{name}.{ending}")
                info.size = len(text.encode())
                archive.addfile(info, io.BytesIO(text.encode()))
    return str(path)


def write_xlsx(path, records):
    """Write a sheet as VLMEvalKit does; openpyxl would have other parts in the file."""
    pandas.DataFrame(records).to_excel(path, index=False, engine="xlsxwriter")


# Write records by the ending of the file.
WRITERS = {
    "csv": lambda path, records: pandas.DataFrame(records).to_csv(path, index=False),
    "tsv": lambda path, records: pandas.DataFrame(records).to_csv(path, index=False, sep="\t"),
    "jsonl": write_jsonl,
    "json": lambda path, records: path.write_text(json.dumps(records)),
    "parquet": lambda path, records: pandas.DataFrame(records).to_parquet(path, index=False),
    "xlsx": write_xlsx,
    "tar": lambda path, records: write_tar(path, {row["id"]: {"json": json.dumps(row)} for row in records}),
}
