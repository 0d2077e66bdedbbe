"""Score caption files of any size.

Light: the packages are imported when `score` is called, behind the processes that a command has started by then.
"""

from manycaps.scoring.score_options import ScoreOptions, ScoreResult


def score(options: ScoreOptions) -> ScoreResult:
    """Score caption files by any metrics, and write the scores of every row and of the corpus into a folder.

    With several processes, a script must call this under `if __name__ == "__main__":`, as for any pool of processes.

    Args:
        options: what is scored, and how.

    Returns:
        The values of the corpus, and the folder.

    Raises:
        ValueError: an input, option or row cannot be used, or the folder holds another run.
        OSError: a file cannot be read, or the folder cannot be written.
        ImportError: a package of a metric is missing.
        ChildProcessError: a process was killed.
    """
    from manycaps.installed_modules import stay_off_the_hub

    stay_off_the_hub()
    import evaluate  # noqa: F401  # all of it, for whoever calls this; a command has imported less of it by now

    from manycaps.scoring.run import run_score

    return run_score(options)
