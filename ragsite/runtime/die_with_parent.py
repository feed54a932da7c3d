"""Ties a process to the life of its parent. Imports the standard library only.

Run as a script, `die_with_parent.py PARENT_PID COMMAND...`, it becomes COMMAND. A separate program rather than a
`preexec_fn`: nothing of ours runs between fork and exec, where threads of the parent (gRPC has some) could have left
locks held.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """From now on the kernel kills this process when its parent dies (Linux; elsewhere nothing happens)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            sys.exit(1)


def main() -> None:
    """`die_with_parent.py PARENT_PID COMMAND...`; does not return."""
    parent = int(sys.argv[1])
    command = sys.argv[2:]
    die_with_parent(parent)
    # A shell starts background jobs with SIGINT ignored; programs that stop on it must hear it again.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main()
