"""Pages without their drawings, which take most of the time of a comparison: tests of what pages say use it."""

import html

import pytest


@pytest.fixture
def drawn_plots():
    """Plots are drawn in this test, whatever holds for its file."""


@pytest.fixture
def undrawn_plots(request, monkeypatch):
    """Plots have their names and descriptions, and no lines."""

    def element(_figure, name, description):
        return f'<svg role="img" aria-label="{html.escape(description, quote=True)}" data-plot="{name}"></svg>'

    if "drawn_plots" not in request.fixturenames:
        monkeypatch.setattr("manycaps.report.inline_svg.as_inline_svg", element)
