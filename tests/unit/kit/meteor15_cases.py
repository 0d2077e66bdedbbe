"""The cache folder in which the compiled table of METEOR 1.5 is kept."""


def cache_of(folder):
    """What stands for `huggingface_hub.cached_assets_path`."""

    def cached_assets_path(library, namespace, subfolder):
        return folder / library / namespace / subfolder

    return cached_assets_path
