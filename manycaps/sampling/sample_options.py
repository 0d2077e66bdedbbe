"""Options of a run of samples. Light: packages are imported when options are checked."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence

from .decoding_setting import Setting

# What --dtype takes.
DTYPE_NAMES = ("float32", "bfloat16", "float16")

# Largest number of samples of a row.
MOST_SAMPLES = 10_000


@dataclasses.dataclass(frozen=True)
class SampleOptions:
    """Options of `manycaps sample`, with their defaults; see `manycaps sample --help`.

    Raises:
        TypeError, ValueError: an option cannot be used. Messages name it as the command line does: --batch-size.
    """

    # Folder or Hub name of a model of transformers, or a model's name at a server.
    model: str
    # Folders of images, images, and tables with a column of images or prompts.
    sources: Sequence[str]
    # The file of samples, JSON Lines.
    output: pathlib.Path
    # Samples of a row.
    n: int = 10
    # How to decode.
    setting: Setting = dataclasses.field(default_factory=Setting)
    # Question about every image, or the start of a caption; rows may have prompts of their own.
    prompt: str | None = None
    # Message of the system.
    system: str | None = None
    # Address of a server; None: the model runs here.
    url: str | None = None
    # Of a model of the Hub: branch, tag or commit.
    revision: str | None = None
    # Where the model runs, one of `DTYPE_NAMES`, and rows at a time.
    device: str = "auto"
    dtype: str = "float32"
    batch_size: int = 8
    # Requests to a server at a time, further attempts of each, and seconds of an attempt.
    concurrency: int = 8
    retries: int = 5
    timeout: float = 120.0
    # With the id of a row it decides its samples.
    seed: int = 0
    # Rows to read; None: all.
    limit: int | None = None
    # Which of how many parts of the rows, counted from 1.
    shard: tuple[int, int] = (1, 1)
    # From "id" and "image" to names of columns, or both as text: "id=image_id".
    columns: Mapping[str, str] | str | None = None
    # Folder of the images that a column or the ids name.
    images: str | None = None
    # Whether images of a folder are named without their endings.
    stems: bool = False
    # Of saved data sets with several, and on the Hub.
    split: str = "train"
    # Whether to begin from scratch, whatever there is.
    restart: bool = False

    def __post_init__(self) -> None:
        """Check what can be checked without a file."""
        from manycaps.kit.base_module import check_choice, check_number, check_whole_number

        check_whole_number("-n", self.n, 1, MOST_SAMPLES)
        check_choice("--dtype", self.dtype, DTYPE_NAMES)
        for name, least in {"batch_size": 1, "concurrency": 1, "retries": 0, "seed": 0}.items():
            check_whole_number(f"--{name.replace('_', '-')}", getattr(self, name), least)
        check_number("--timeout", self.timeout, 0, 1e6)
        if self.limit is not None:
            check_whole_number("--limit", self.limit, 1)
        k, n_shards = self.shard
        if not 1 <= k <= n_shards:
            raise ValueError(f"--shard: expected i/n with i from 1 to n, got {k}/{n_shards}. The first is 1/n.")
        beams = self.setting.num_beams
        if beams is not None and beams < self.n:
            raise ValueError(
                f"--num-beams: expected at least {self.n} for as many samples, got {beams}. Give more beams, or a "
                "smaller -n."
            )
