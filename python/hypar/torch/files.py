"""Files that are whole, or not there."""
import contextlib
import os
import tempfile


OUTPUTS = ("-o", "--output", "--weights", "--profile", "--trace")  # options of the command that name files which it writes


def check(path):
    """Fail, in one line, if no file can be written there: it takes long until there is something to write."""
    folder = os.path.dirname(os.path.abspath(path))
    why = "No such directory" if not os.path.isdir(folder) else "Is a directory" if os.path.isdir(path) else \
        None if os.access(folder, os.W_OK) else "Permission denied"
    if why:
        raise OSError(f"{path}: cannot write: {why}")


def check_arguments(words):
    """check() of the files that a command line names."""
    for option, path in zip(words, words[1:]):
        if option in OUTPUTS and path != "-":
            check(path)


@contextlib.contextmanager
def whole(path):
    """A path to write to, which becomes `path` at the end; where something fails nothing is left of it."""
    check(path)
    with tempfile.TemporaryDirectory(prefix=".hypar-", dir=os.path.dirname(os.path.abspath(path))) as folder:
        written = os.path.join(folder, os.path.basename(path))
        yield written
        os.replace(written, path)
