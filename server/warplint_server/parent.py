"""Leaves when the client does: a server whose editor was killed would run on for ever."""

from __future__ import annotations

import os
import threading
import time

CHECK_S = 1.0


def leave_with(process_id: int | None) -> None:
    """Watch the client's process and end this one when that is gone.

    The end of standard input says the same, unless another process has inherited its other end. A process
    that cannot be seen from the start (a client outside this container, say) is not watched.
    """
    if process_id is None or os.name != "posix" or not _exists(process_id):
        return
    # A dead parent that nobody has waited for still exists, but is no longer the parent.
    is_parent = os.getppid() == process_id
    threading.Thread(
        target=_wait_and_leave, args=(process_id, is_parent), name="warplint-client-watch", daemon=True
    ).start()


def _wait_and_leave(process_id: int, is_parent: bool) -> None:
    while _exists(process_id) and (not is_parent or os.getppid() == process_id):
        time.sleep(CHECK_S)
    # From a thread, and whatever the others are doing: nobody is left to tell.
    os._exit(1)


def _exists(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
