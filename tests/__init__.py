"""Tests of manycaps: a package, so that one of another library that is called tests does not stand in its place."""
