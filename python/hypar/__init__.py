"""hypar from Python: where the command is, and how to run it. `hypar.torch` turns networks of PyTorch into graphs."""
import json
import os
import shutil
import subprocess

__all__ = ["Failed", "command", "run"]


class Failed(Exception):
    """The command said no; the text is what it wrote."""


def command():
    """The path of the `hypar` command: $HYPAR, or what PATH has."""
    path = os.environ.get("HYPAR") or shutil.which("hypar")
    if not path:
        raise Failed("the command 'hypar' is not on PATH, and HYPAR does not name it")
    return path


def run(*args):
    """Run `hypar ARGS... --json`; its report, a list where it is several lines."""
    done = subprocess.run([command(), *map(str, args), "--json"], capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip())
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return [json.loads(line) for line in done.stdout.splitlines()]
