"""Repeated work beside the requests, in a thread that ends with its process."""

import threading
from collections.abc import Callable


def start_repeating(name: str, action: Callable[[], None], seconds: float) -> threading.Thread:
    """Start a thread that calls `action` at once, and `seconds` after each call returned; `action` must not raise."""

    def repeat() -> None:
        pause = threading.Event()
        while True:
            action()
            pause.wait(seconds)

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    return thread
