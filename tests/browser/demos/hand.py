"""What a reader does with a demo, what its tables say, and the model that it runs."""

import base64

import numpy as np
import torch


def boxes(page):
    """All demos of the page after a reader has come by them."""
    places = page.locator(".attn-demo").all()
    for place in places:
        place.scroll_into_view_if_needed()
        place.locator(".attn-question").wait_for()
    assert places
    return places


def box(page, title):
    """The demo of this title."""
    boxes(page)
    return page.get_by_role("group", name=title, exact=True)


def number(text):
    """A number as the page writes it."""
    return float(text.replace("−", "-"))


def numbers(demo):
    """The rows of the opened Numbers, by the caption of their table and their first cell."""
    sheet = demo.locator(".attn-sheet")
    if not sheet.is_visible():
        demo.locator("summary", has_text="Numbers").click()
    sheet.locator("table").first.wait_for()
    tables = sheet.evaluate(
        """sheet => [...sheet.querySelectorAll("table")].map(table => [
             table.caption.textContent,
             [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent)),
           ])"""
    )
    return {
        caption: {name: [number(cell) for cell in cells] for name, *cells in rows}
        for caption, rows in tables
    }


def drag(page, handle, across, down):
    """Take a handle with the mouse and move it by so many pixels."""
    handle.scroll_into_view_if_needed()
    place = handle.bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across / 2, y + down / 2)
    page.mouse.move(x + across, y + down)
    page.mouse.up()


def finger(page, handle, *way):
    """Put a finger on a handle, move it to each place of the way (pixels from there) and lift it.

    The page must not scroll meanwhile.
    """
    handle.scroll_into_view_if_needed()
    place = handle.bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    moves = [("touchMove", [{"x": x + across, "y": y + down}]) for across, down in way]
    touch = page.context.new_cdp_session(page)
    scrolled = page.evaluate("scrollY")
    for kind, points in [("touchStart", [{"x": x, "y": y}]), *moves, ("touchEnd", [])]:
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert page.evaluate("scrollY") == scrolled


def arrived(page, name):
    """The state that came with the page for the one demo that has a trait of this name."""
    page.wait_for_function("globalThis.demoModels")
    states = [model["state"] for model in page.evaluate("demoModels").values()]
    (state,) = (state for state in states if name in state)
    return state


def carried(page, name):
    """The weights that came with the page for a demo's trait of this name, as torch loads them."""
    packed = arrived(page, name)[name]
    return {
        parameter: torch.tensor(
            np.frombuffer(base64.b64decode(tensor["float16"]), "<f2").reshape(tensor["shape"])
        )
        for parameter, tensor in packed.items()
    }
