"""Training in several processes as if in one: each computes the features of its rows, all see the whole batch."""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from accelerate import Accelerator


class AcceleratedProcesses:
    """The processes that `accelerate launch` or `torchrun` started; works alike for one.

    An image is compared with the captions of all processes, so every process computes the loss of the whole batch from
    gathered features. Its gradient then reaches the rows that the process made itself; the sum over the processes is
    the gradient of the whole batch, exactly, where averaging losses of separate batches would be another loss.
    """

    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator
        self._n, self._rank = accelerator.num_processes, accelerator.process_index

    def part(self, n: int) -> slice:
        """This process's share of n rows: the shares differ by one row at most."""
        return slice(n * self._rank // self._n, n * (self._rank + 1) // self._n)

    def gather(self, share: torch.Tensor, n: int) -> torch.Tensor:
        """All n rows from the shares of all processes; gradients flow back to this process's share."""
        return share if self._n == 1 else _Gather.apply(share, self, n)

    def sum_gradients(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        """Replace each gradient by its sum over the processes."""
        for parameter in parameters if self._n > 1 else ():
            parameter.grad = self.accelerator.reduce(parameter.grad, "sum")

    def all_rows(self, share: torch.Tensor, n: int) -> torch.Tensor:
        """Rows of all shares, without gradients; shares are padded to one length on the way."""
        ends = [n * rank // self._n for rank in range(self._n + 1)]
        sizes = [end - start for start, end in itertools.pairwise(ends)]
        padding = share.new_zeros(max(sizes) - len(share), *share.shape[1:])
        blocks = self.accelerator.gather(torch.cat([share, padding])).split(max(sizes))
        return torch.cat([block[:size] for block, size in zip(blocks, sizes, strict=True)])


class _Gather(torch.autograd.Function):
    """Gather whose gradient is that of this process's rows."""

    @staticmethod
    def forward(ctx: Any, share: torch.Tensor, processes: AcceleratedProcesses, n: int) -> torch.Tensor:
        ctx.rows = processes.part(n)
        return processes.all_rows(share, n)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return gradient[ctx.rows], None, None
