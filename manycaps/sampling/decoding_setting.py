"""A way to decode: sampling at a temperature, a search, and their options."""

import dataclasses
import math
from typing import Annotated, Any, ClassVar

from manycaps.catalog.command_options import Option, check_options
from manycaps.kit.errors import InputError
from manycaps.kit.options import check_flag, check_is_number, check_number, check_share

# Largest number of tokens of a sample, and of beams.
MOST_TOKENS, MOST_BEAMS = 100_000, 1_000

MaxNewTokens = Annotated[int, Option("tokens of a sample at most", least=1, most=MOST_TOKENS)]


@dataclasses.dataclass(frozen=True)
class Setting:
    """How a model decodes; nothing that its own configuration asks for is added.

    Raises:
        TypeError, ValueError: an option cannot be used, or not with another one. Messages name it as the command line
            does: --top-p.

    >>> Setting(temperature=0.7).name, Setting(top_p=0.9, top_k=20).name, Setting(greedy=True).name
    ('t0.7', 't1-p0.9-k20', 'greedy')
    """

    GROUPS: ClassVar = {"temperature": "how to decode"}

    temperature: Annotated[float, Option("logits are divided by it", "T")] = 1.0
    top_p: Annotated[float, Option("likeliest tokens up to this total probability; 1: all", "P")] = 1.0
    top_k: Annotated[int, Option("this many of the likeliest tokens; 0: all", least=0)] = 0
    min_p: Annotated[float, Option("least share of the likeliest's probability; 0: all", "P")] = 0.0
    num_beams: Annotated[
        int | None, Option("beam search: the samples are the best beams", least=2, most=MOST_BEAMS)
    ] = None
    # What a token's log-probability loses for each earlier sample that chose it.
    diverse: Annotated[float | None, Option("diverse beam search, such as 0.5", "PENALTY")] = None
    greedy: Annotated[bool, Option("the likeliest token of each step: equal samples")] = False
    max_new_tokens: MaxNewTokens = 64

    def __post_init__(self) -> None:
        """Check every option, and that at most one way is chosen."""
        check_options(self)
        check_number("--temperature", self.temperature, 0, math.inf)
        check_share("--top-p", self.top_p)
        check_is_number("--min-p", self.min_p, "Give a float such as 0.05.")
        if not 0 <= self.min_p < 1:
            raise InputError("--min-p", "a number from 0 to below 1", self.min_p, "0 keeps all tokens.")
        check_flag("--greedy", self.greedy)
        if self.diverse is not None:
            check_number("--diverse", self.diverse, 0, math.inf)
        self._check_one_way()

    def _check_one_way(self) -> None:
        searches = {"--num-beams": self.num_beams, "--diverse": self.diverse, "--greedy": self.greedy or None}
        chosen = [option for option, value in searches.items() if value is not None]
        if len(chosen) > 1:
            raise InputError(chosen[1], "one search", f"{chosen[0]} as well", "Leave one of them out.")
        warped = (self.temperature, self.top_p, self.top_k, self.min_p) != (1.0, 1.0, 0, 0.0)
        if chosen and warped:
            fix = "Leave out --temperature, --top-p, --top-k and --min-p."
            raise InputError(chosen[0], "no sampling option beside a search", "one", fix)

    @property
    def is_sampled(self) -> bool:
        """Whether tokens are drawn at random."""
        return self.num_beams is None and self.diverse is None and not self.greedy

    @property
    def name(self) -> str:
        """Short name, for files and tables."""
        if not self.is_sampled:
            beams = "greedy" if self.num_beams is None else f"beams{self.num_beams}"
            return beams if self.diverse is None else f"diverse{self.diverse:g}"
        parts = {"p": (self.top_p, 1.0), "k": (self.top_k, 0), "m": (self.min_p, 0.0)}
        added = "".join(f"-{letter}{value:g}" for letter, (value, off) in parts.items() if value != off)
        return f"t{self.temperature:g}{added}"

    def to_dict(self) -> dict[str, Any]:
        """Return the options that say how it decodes."""
        return dataclasses.asdict(self)
