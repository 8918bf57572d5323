"""Files that are whole, or not there."""
import contextlib
import os
import tempfile


@contextlib.contextmanager
def whole(path):
    """A path to write to, which becomes `path` at the end; where something fails nothing is left of it."""
    with tempfile.TemporaryDirectory(prefix=".hypar-", dir=os.path.dirname(os.path.abspath(path))) as folder:
        written = os.path.join(folder, os.path.basename(path))
        yield written
        os.replace(written, path)
