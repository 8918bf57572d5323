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
    named = os.environ.get("HYPAR")
    path = shutil.which(named or "hypar")
    if not path:
        raise Failed(f"HYPAR={named}: no such command" if named else "the command 'hypar' is not on PATH, and HYPAR does not name it")
    return path


def run(*args):
    """Run `hypar ARGS... --json`; its report, a list where it is several lines."""
    path = command()
    try:
        done = subprocess.run([path, *map(str, args), "--json"], capture_output=True, text=True)
    except OSError as why:
        raise Failed(f"{path}: {why.strerror}") from None
    if done.returncode:
        raise Failed(done.stderr.strip() or f"{path}: exit code {done.returncode}")
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        pass
    try:
        return [json.loads(line) for line in done.stdout.splitlines()]
    except json.JSONDecodeError:
        raise Failed(f"{path}: no JSON; is it hypar?") from None
