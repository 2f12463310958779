"""What holds for the traits of every demo."""

import pytest
from traitlets import TraitError


def refuses(demo, name, value, message):
    """A value that the page could not draw is refused in words, and nothing changes."""
    before = getattr(demo, name)
    with pytest.raises(TraitError, match=message):
        setattr(demo, name, value)
    assert getattr(demo, name) == before
