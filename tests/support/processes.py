"""Commands that run while a test watches: signals and terminals."""

import os
import pty
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

_SIGTERM_BIT = 1 << (signal.SIGTERM - 1)


def wait_until_ready(process: subprocess.Popen[str]) -> None:
    """Wait until a command handles SIGTERM; then it handles an interrupt, too."""
    for _ in range(600):
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        if int(next(line for line in lines if line.startswith("SigCgt")).split()[1], 16) & _SIGTERM_BIT:
            return
        time.sleep(0.1)


def in_terminal(command: Sequence[str], where: Path, stream: str, columns: int) -> tuple[str, str]:
    """Run a command with one stream as a terminal; return what it printed there, and on a piped standard output."""
    terminal, side = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    streams = {"stdout": subprocess.PIPE, stream: side}
    process = subprocess.Popen(command, cwd=where, env=environment, **streams)
    os.close(side)
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 65536)
        except OSError:  # the other side is closed
            break
    os.close(terminal)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return shown.decode(), (printed or b"").decode()
