import json
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from conftest import write_symbols
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples/addition.ipynb"


@pytest.mark.filterwarnings("default")  # Jupyter has its own
def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    printed = " ".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    assert "90 pairs are seen in fold 1" in printed
    assert "The network is blind" in printed
    pictures = [output for cell in notebook.cells for output in cell.get("outputs", [])
                if "image/png" in output.get("data", {})]  # fmt: skip
    assert len(pictures) == 3


CELL = """
import unseen
small = {"symbols": "symbols", "samples": 6, "test_samples": 4, "watched_samples": 20}
run = unseen.run("fast", epochs=40, folds=[1], **small)
assert [result.fold for result in run.results] == [1]
"""


@pytest.mark.filterwarnings("default")
def test_an_interrupted_cell_ends_its_workers_and_goes_on_when_it_is_run_again(tmp_path):
    write_symbols(tmp_path / "symbols")
    manager, client = start_new_kernel(cwd=str(tmp_path))

    def outcome_of(request: str) -> str | None:
        while (reply := client.get_shell_msg(timeout=100))["parent_header"]["msg_id"] != request:
            pass
        return reply["content"].get("ename")

    try:
        interrupted = client.execute(CELL)
        patience = time.monotonic() + 100
        while not (saved := [*tmp_path.glob("runs/*/folds/01/checkpoint")]):
            assert time.monotonic() < patience, "waited in vain"
            time.sleep(0.01)
        progress = saved[0].with_name("progress.json")
        worker = psutil.Process(json.loads(progress.read_text())["process"])
        manager.interrupt_kernel()
        assert outcome_of(interrupted) == "KeyboardInterrupt"
        worker.wait(timeout=5)
        assert not [*tmp_path.rglob("*.part")]
        assert saved[0].exists(), "what was saved was lost"
        assert outcome_of(client.execute(CELL)) is None
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
