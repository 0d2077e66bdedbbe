"""One module in many threads: each call has its own numbers, and an error lets the next call in."""

import concurrent.futures
import threading

import pytest

import manycaps
from tests.modules.sample_inputs import IMAGES, module_of
from tests.modules.test_every_module import assert_same, load_module, rows_of

N_THREADS = 4


def parts_of(columns):
    """Different rows for each thread, of different numbers."""
    n_rows = len(next(iter(columns.values())))
    chosen = [[i % n_rows for i in range(start, start + 2 + start % 3)] for start in range(N_THREADS)]
    return [{name: [column[i] for i in rows] for name, column in columns.items()} for rows in chosen]


def in_threads(function, arguments):
    """Results of calls that begin at the same time, again and again."""
    barrier = threading.Barrier(N_THREADS)

    def calls(argument):
        barrier.wait()
        return [function(argument) for _ in range(2)]

    with concurrent.futures.ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(calls, arguments))


@pytest.mark.slow
def test_each_thread_gets_the_values_of_its_own_rows(folder):
    module, parts = load_module(folder), parts_of(rows_of(folder))
    expected = [module.compute(**part) for part in parts]
    found = in_threads(lambda part: module.compute(**part), parts)
    for results, part_result in zip(found, expected, strict=True):
        for result in results:
            assert_same(folder, result, part_result)


def test_rows_that_are_added_while_another_thread_computes_are_not_lost():
    module, computing, adding = manycaps.load("bleu_rouge"), threading.Event(), threading.Event()
    columns = rows_of_bleu()
    expected, original = module.compute(**columns), module._compute

    def slow(**given):
        computing.set()
        assert not adding.wait(0.2)  # the other thread waits
        return original(**given)

    module._compute = slow
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(module.compute, **columns)
        computing.wait()
        pool.submit(lambda: (module.add_batch(**columns), adding.set())).result()
        assert first.result() == expected
    module._compute = original
    assert module.compute() == expected


def rows_of_bleu():
    return {"predictions": [["a dog"], ["a cat sits"]], "references": [["a dog"], ["the cat sits"]]}


def test_an_error_lets_the_next_thread_in_and_a_call_within_a_call_does_not_wait():
    module = manycaps.load("bleu_rouge", tokenizer=lambda caption: words_of(module, caption))
    with pytest.raises(TypeError):
        module.compute(predictions=[[3]], references=[["a"]])
    with concurrent.futures.ThreadPoolExecutor() as pool:
        result = pool.submit(module.compute, **rows_of_bleu()).result(timeout=60)
    assert result["n_rows"] == 2


def words_of(module, caption):
    """The tokens of a caption, by a call of the module that is computing."""
    if caption == "a dog":
        module.compute(predictions=[["one"]], references=[["one"]])
    return caption.split()


VECTORS, TABLE = [[[1.0, 0.0], [0.0, 1.0]]], [[[0.0, 1.0, 2.0], [1.0, 0.0, 1.5], [2.0, 1.5, 0.0]]]

LEFT_OUT = {"data": [["a", "b", "c"]], "data_embeddings": [[*VECTORS[0], [1.0, 1.0]]], "metrics": ["trm_bert"]}

# Calls that go past the added rows.
READY = [
    ("trm", {"prediction_embeddings": VECTORS, "reference_embeddings": VECTORS}),
    ("trm", {"prediction_images": IMAGES[:2], "reference_images": IMAGES[2:]}),
    ("trm", {"distances": TABLE, "n_candidates": 2}),
    ("mmd", {"kernels": TABLE, "n_candidates": 2, "estimator": "biased"}),
    ("vdtk_leave_one_out", LEFT_OUT),
]


@pytest.mark.parametrize(("name", "given"), READY)
def test_a_call_with_ready_arrays_waits_too(name, given):
    module = module_of(name)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        with module.lock:
            call = pool.submit(module.compute, **given)
            assert not concurrent.futures.wait([call], timeout=0.1).done
        assert call.result() == module.compute(**given)
