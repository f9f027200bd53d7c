"""The circumstances of a run."""
from __future__ import annotations

import platform
import tempfile
import unittest
from pathlib import Path

from benchkit.basics.json_text import canonical
from benchkit.disk.machine import environment, processor


class Circumstances(unittest.TestCase):
    def test_they_name_this_python_and_machine_and_the_server_as_it_told(self) -> None:
        found = environment({"server": "ollama", "server_version": "0.32.15"})
        self.assertEqual({"python", "platform", "processor", "processors", "server", "server_version"}, set(found))
        self.assertEqual(platform.python_version(), found["python"])
        canonical(found)

    def test_the_processor_is_named_as_linux_does_and_else_as_python_does(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for text, name in (("processor\t: 0\nmodel name\t: A chip @ 2: GHz\nmodel name\t: B\n", "A chip @ 2: GHz"),
                               ("Hardware : x\n", platform.machine()), ("", platform.machine())):
                path = Path(folder) / "cpuinfo"
                path.write_text(text, encoding="utf-8")
                self.assertEqual(name, processor(path))
            self.assertEqual(platform.processor() or platform.machine(), processor(Path(folder) / "nowhere"))
