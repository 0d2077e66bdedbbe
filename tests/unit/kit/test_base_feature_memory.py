"""Features that are remembered: what goes first, and how many bytes stay."""

from concurrent.futures import ThreadPoolExecutor

from manycaps.kit.embeddings import BYTES_PER_ENTRY, RememberedFeatures


def test_the_bound_holds_whatever_the_sizes():
    features = RememberedFeatures(10 * BYTES_PER_ENTRY)
    for i in range(200):
        features.put(i % 37, bytes(i), i * 7)
        sizes = [features._entries[key][1] for key in features._entries]
        assert sum(sizes) == features._n_used <= 10 * BYTES_PER_ENTRY


def test_what_is_larger_than_the_bound_drives_nothing_out():
    features = RememberedFeatures(2 * BYTES_PER_ENTRY)
    features.put("a", 1, 0)
    features.put("b", 2, 2 * BYTES_PER_ENTRY)
    assert (features.get("a"), features.get("b")) == (1, None)
    features.put("a", 3, 2 * BYTES_PER_ENTRY)  # the old value is not the answer any more
    assert features.get("a") is None


def test_threads_share_it():
    features = RememberedFeatures(5 * BYTES_PER_ENTRY)

    def work(i):
        features.put(i % 11, i % 11, 0)
        assert features.get(i % 7) in (None, i % 7)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(5000)))
    assert len(features) == 5
