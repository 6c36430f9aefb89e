"""What a process does again and again beside its requests, in a thread that ends with it."""

import threading
from collections.abc import Callable


def start_repeating(name: str, action: Callable[[], None], seconds: float) -> threading.Thread:
    """Do something now and then again, so many seconds after it was done; `action` lets no error out."""

    def go_on() -> None:
        pause = threading.Event()
        while True:
            action()
            pause.wait(seconds)

    thread = threading.Thread(target=go_on, name=name, daemon=True)
    thread.start()
    return thread
