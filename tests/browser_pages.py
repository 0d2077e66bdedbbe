"""What the tests of report pages ask of a browser."""

import io
import json

import numpy as np
import pytest

# Widths of a screen and of a telephone, in CSS pixels.
WIDTHS = (1200, 400)


def open_page(browser, page, width, scheme="light"):
    """Load the page at a width and a colour scheme, without network, and return its height."""
    browser.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    height = browser.execute_script("return document.documentElement.scrollHeight")
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**metrics, "height": height})
    return height


def screenshot(browser):
    """Pixels of the page, int64, shape (height, width, 3)."""
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install pillow")
    return np.asarray(image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB"), dtype=np.int64)


def requested_addresses(browser):
    """All addresses that were asked for since this was asked last."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


def assert_opens_alone(browser, page):
    """A page opens without an error on the console, and asks for nothing but itself."""
    browser.get_log("performance")
    open_page(browser, page, 1200)
    assert browser.get_log("browser") == []
    # A browser that has just started may still ask for pages of its own.
    found = [url for url in requested_addresses(browser) if not url.startswith(("data:", "chrome:"))]
    assert found == [page.as_uri()], found


def contrasts(browser, names):
    """WCAG contrast of each colour variable of the page against the colour of its panels."""
    colors = browser.execute_script(
        """const probe = document.body.appendChild(document.createElement('span'));
           return arguments[0].map(name => {
             probe.style.color = `var(--${name})`; return getComputedStyle(probe).color; })""",
        ["panel", *names],
    )
    panel, *others = map(_relative_luminance, colors)
    return {
        name: (max(panel, luminance) + 0.05) / (min(panel, luminance) + 0.05)
        for name, luminance in zip(names, others, strict=True)
    }


def _relative_luminance(color):
    channels = np.array([int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(",")]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]
