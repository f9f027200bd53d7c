// Replays everything committed under CPython compiled to WebAssembly: node .ci/wasm.mjs PACKAGE TREE
// PACKAGE is the folder of an installed npm package `pyodide`; TREE, a clone, is mounted as the working folder.
import { pathToFileURL } from "node:url";

const [folder, tree] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`).href);
const python = await loadPyodide();
python.mountNodeFS("/tree", tree);
python.globals.set("arguments", python.toPy([".ci/replay.py", "make", "/tree"]));
python.runPython(`
import platform, runpy, sys
sys.argv, sys.dont_write_bytecode = arguments, True
print(f"CPython {platform.python_version()}, {platform.platform()}, {sys.maxsize.bit_length() + 1} bits")
runpy.run_path("/tree/.ci/replay.py", run_name="__main__")
`);
