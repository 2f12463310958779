"""attnkit: the helper package of the book. It imports nothing by itself; take what you need.

``attnkit.<chapter>`` holds the reference implementations of a chapter, ``attnkit.checking`` the
checks, ``attnkit.exercises`` what is asked, ``attnkit.demos`` the widgets, ``attnkit.plots`` the
figures, ``attnkit.data`` the toy data.
"""

__version__ = "0.1.0"
