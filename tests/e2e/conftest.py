"""What the tests of pages share: Debian's chromium, headless."""

import shutil

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --hide-scrollbars --disable-dev-shm-usage
""".split()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser whose logs hold what the console says and what is asked of the network."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install selenium")
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium is not installed: apt-get install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    from selenium.webdriver.chrome.service import Service

    driver = selenium.Chrome(options=options, service=Service(DRIVER))
    driver.set_window_size(1280, 1400)
    yield driver
    driver.quit()
