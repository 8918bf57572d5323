"""apart.py - Python programs in processes that are forked from this one, which has loaded PyTorch: to load it takes seconds."""
import os
import runpy
import subprocess
import sys
import tempfile
import warnings

import torch


class Started:
    """A program that runs."""

    def __init__(self, words, folder, environment):
        self.words, self.written = words, [tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")]
        sys.stdout.flush()
        sys.stderr.flush()
        self.process = os.fork()
        if not self.process:
            os._exit(self.run(folder, environment))

    def run(self, folder, environment):
        """In the new process; returns its exit code."""
        for i, file in enumerate(self.written):
            os.dup2(file.fileno(), i + 1)
        sys.stdout, sys.stderr = open(1, "w"), open(2, "w", buffering=1)
        os.chdir(folder or ".")
        os.environ.clear()
        os.environ.update(environment)
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)  # the threads of the other process are not here
        is_module = self.words[0] == "-m"
        program, sys.argv = self.words[is_module], self.words[is_module:]
        sys.path[:0] = [os.getcwd() if is_module else os.path.dirname(os.path.abspath(program)), *environment.get("PYTHONPATH", "").split(os.pathsep)]
        code = 0
        try:
            if is_module:
                runpy.run_module(program, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(program, run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
            if not isinstance(code, int):
                print(code, file=sys.stderr)
                code = 1
        except BaseException:
            sys.excepthook(*sys.exc_info())
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        return code

    def end(self):
        """Waits for the program; what subprocess.run() returns."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        texts = []
        for file in self.written:
            file.seek(0)
            texts.append(file.read())
            file.close()
        return subprocess.CompletedProcess(self.words, code, *texts)


def start(*words, folder=None, environment=os.environ):
    """Starts python WORDS: a script, or "-m" and a module, and its arguments."""
    return Started(list(words), folder, dict(environment))


def run(*words, folder=None, environment=os.environ):
    return start(*words, folder=folder, environment=environment).end()
