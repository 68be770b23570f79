from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples/addition.ipynb"


@pytest.mark.filterwarnings("default")  # Jupyter has its own
def test_the_notebook_runs_from_top_to_bottom(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    said = " ".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])
    )
    assert "90 pairs are seen in fold 1" in said
    assert "The network is blind" in said
    pictures = [output for cell in notebook.cells for output in cell.get("outputs", [])
                if "image/png" in output.get("data", {})]  # fmt: skip
    assert len(pictures) == 3
