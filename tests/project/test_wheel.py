"""What is installed is the library; the benchmarks stay in the repository, and the shell says where."""

import pathlib
import subprocess
import sys
import sysconfig
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(words, cwd=ROOT, capture_output=True, check=True)
    (made,) = folder.glob("kousoku-*.whl")
    return made


def test_the_wheel_holds_the_whole_library_and_nothing_beside_it(wheel):
    names = {pathlib.PurePosixPath(name) for name in zipfile.ZipFile(wheel).namelist()}
    assert {name.parts[0] for name in names if not name.parts[0].endswith(".dist-info")} == {"kousoku"}
    licences = {name.name for name in names if "licenses" in name.parts}
    assert licences == {"LICENSE", "LICENSES"}, "ours, and those of what the pages' scripts contain"
    ours = {path.relative_to(ROOT / "src") for path in (ROOT / "src" / "kousoku").rglob("*.py")}
    assert ours <= {pathlib.Path(name) for name in names}


@pytest.mark.full("processes")
def test_where_the_benchmarks_are_not_installed_the_shell_says_in_one_line_where_they_are(wheel):
    # Packages are put on the path without their .pth files, one of which would bring the source.
    path = [str(wheel), sysconfig.get_path("purelib")]
    program = f"import sys; sys.path += {path}; from kousoku.cli import main; sys.exit(main(['bench', 'kernel']))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("kousoku: benchmarks: got nothing; they come with the source")
    assert "pip install -e '.[bench]'" in line
