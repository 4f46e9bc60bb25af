"""Files that a model is read from, beside C MuJoCo: which it may name, and names in any encoding."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path

import mujoco
import pytest
from physics_mjcf import write

from kousoku.core.errors import ConfigError
from kousoku.envs.locomotion.files import robot
from kousoku.physics import load
from kousoku.physics.mjcf.compiler import ELEMENT_KINDS, element_name
from kousoku.physics.scene import compiled_body3d

HINGE = "<body><joint name='hinge' axis='0 1 0'/><geom size='.1'/></body>"
INCLUDE = "<mujoco>\n<include file='{}'/></mujoco>"
OUTSIDE = "keep it in the model's folder"


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert str(caught.value).isprintable()
    return str(caught.value)


def zip_file() -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr("a.xml", "<mujoco/>")
    return file.getvalue()


def test_a_file_may_name_what_is_above_its_own_folder_but_in_the_models(tmp_path):
    """MuJoCo looks from the main file's folder first: it would take what is there, outside, which is refused."""
    motor, folder = "<mujoco><actuator><motor joint='hinge'/></actuator></mujoco>", tmp_path / "robots" / "model"
    arm = f"<mujoco>\n<include file='../../shared/motor.xml'/><worldbody>{HINGE}</worldbody></mujoco>"
    main = write(folder, main=INCLUDE.format("parts/arm/arm.xml"), parts__arm__arm=arm, shared__motor=motor)
    assert load(main).nu == mujoco.MjModel.from_xml_path(str(main)).nu == 1
    write(tmp_path, shared__motor="<mujoco><actuator/></mujoco>")
    assert mujoco.MjModel.from_xml_path(str(main)).nu == 0
    assert refusal(main).startswith(f"parts/arm/arm.xml, line 2, <include>: got '../../shared/motor.xml'; {OUTSIDE}")
    (tmp_path / "shared" / "motor.xml").unlink()
    os.mkfifo(tmp_path / "shared" / "motor.xml")
    assert OUTSIDE in refusal(main), "MuJoCo would wait for what comes"


@pytest.mark.parametrize("file", ["../../../m.xml", "../../../../m.xml", "/m.xml", "x:m.xml", r"..\..\..\m.xml"])
def test_a_file_of_a_file_is_not_outside_of_the_models_folder(tmp_path, file):
    main = write(tmp_path / "model", main=INCLUDE.format("parts/arm/arm.xml"), parts__arm__arm=INCLUDE.format(file))
    assert OUTSIDE in refusal(main)
    assert OUTSIDE in refusal(write(tmp_path / "model", main=INCLUDE.format(file)))


@pytest.mark.parametrize("file", ["../../m.xml", "m.xml", 5000 * "m"])
def test_a_file_of_a_file_that_is_not_there(tmp_path, file):
    main = write(tmp_path, main=INCLUDE.format("parts/arm/arm.xml"), parts__arm__arm=INCLUDE.format(file))
    assert "there is no such file in the model's folder" in refusal(main)


STRIPPED = """<mujoco><compiler strippath="{}" meshdir="parts"/><asset>{}<mesh name="m" file="{}"/></asset>
<worldbody><body name="w"><geom type="mesh" mesh="m" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "m.obj").write_text(TETRAHEDRON)
    return tmp_path


@pytest.mark.parametrize("file", ["/no/where/m.obj", "../../m.obj", r"C:\no\m.obj", "m.obj"])
def test_folders_of_files_count_unless_the_model_strips_them(folder, file):
    assert load(write(folder, main=STRIPPED.format("true", "", file))).ngeom == 1
    kept = [STRIPPED.format(strips, "", file) for strips in ("false", 'true"/><compiler strippath="false')]
    for text in (*kept, kept[0].replace('strippath="false"', "")):
        main = write(folder, main=text)
        if file == "m.obj":
            assert load(main).ngeom == 1
        else:
            assert f"; {OUTSIDE}" in refusal(main)


def test_the_model_that_attaches_says_whether_folders_of_files_count(folder):
    """As in C, whatever the other says; models that are attached are found with their folders all the same."""
    attach = '<model name="x" file="{}.xml"/>'
    for own in ("true", "false"):
        write(folder, part=STRIPPED.format(own, "", "/no/m.obj"))
        assert load(write(folder, main=STRIPPED.format("true", attach.format("part"), "m.obj"))).ngeom == 1
        main = write(folder, main=STRIPPED.format("false", attach.format("part"), "m.obj"))
        assert refusal(main).startswith(f"part.xml, line 1, <mesh name='m'>: got '/no/m.obj'; {OUTSIDE}")
    assert OUTSIDE in refusal(write(folder, main=STRIPPED.format("true", attach.format("/no/part"), "m.obj")))


LATIN = """<?xml version="1.0" encoding="ISO-8859-1"?><mujoco><worldbody><body name="café">
<joint name="été" axis="0 1 0"/><geom name="où" size=".1" pos=".1 0 0" {}/><site name="là"/></body></worldbody>
<tendon><fixed name="ç"><joint joint="été" coef="1"/></fixed></tendon><actuator><motor name="ô" joint="été"/></actuator>
<sensor><jointpos name="é" joint="été"/></sensor></mujoco>"""


@pytest.mark.parametrize(("encoding", "letter"), [("latin-1", "\ufffd"), ("utf-8", "é")])
def test_names_may_be_in_any_encoding(tmp_path, encoding, letter):
    """MuJoCo takes bytes; those that are no UTF-8 are shown as such, also where an element is refused."""
    path = tmp_path / "names.xml"
    path.write_bytes(LATIN.format("").encode(encoding))
    model, compiled = load(path), mujoco.MjModel.from_xml_path(str(path))
    assert model.id("body", f"caf{letter}") == 1
    assert dict(model.names)["sensor"] == (letter,)
    assert load(compiled).names == model.names
    assert tuple(geom.name for geom in compiled_body3d(compiled).geoms) == dict(model.names)["geom"]
    path.write_bytes(LATIN.format('adhesion="1"').encode(encoding))
    assert refusal(path).startswith(f"names.xml, line 2, <geom name={dict(model.names)['geom'][0]!r}>: got 'adhesion'")


NAMED = """<mujoco><worldbody><body name="b"><joint name="j" axis="0 1 0"/><geom name="g" size=".1"/><site/></body>
<body name="c"><geom name="h" size=".1"/></body></worldbody>
<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon><equality><joint name="e" joint1="j"/></equality>
<contact><pair name="p" geom1="g" geom2="h"/></contact><actuator><motor joint="j"/></actuator>
<sensor><jointpos name="s" joint="j"/></sensor></mujoco>"""


def test_names_are_mujocos():
    compiled = mujoco.MjModel.from_xml_string(NAMED)
    names = {"jnt": "JOINT", "eq": "EQUALITY"}
    for kind in ELEMENT_KINDS:
        number = getattr(mujoco.mjtObj, f"mjOBJ_{names.get(kind, kind.upper())}")
        for i in range(2 if kind in ("body", "geom") else 1):
            assert element_name(compiled, kind, i) == (mujoco.mj_id2name(compiled, number, i) or "")


ARCHIVE = "it is an archive: unpack it, and give the MJCF file in it"
USD = "it is USD: convert it to MJCF, and give that"
OTHER_KINDS = {
    "a.zip": (zip_file(), ARCHIVE),
    "a.mjz": (zip_file(), ARCHIVE),
    "a.xml.gz": (gzip.compress(b"<mujoco/>"), ARCHIVE),
    "a.usd": (b"PXR-USDC\0\1", USD),
    "a.usda": (b'#usda 1.0\ndef Xform "a" {}', USD),
    "renamed.xml": (b"#usda 1.0", USD),
    "little.xml": ("\ufeff<mujoco/>".encode("utf-16-le"), "it is in UTF-16: save it as UTF-8"),
    "big.xml": ("\ufeff<mujoco/>".encode("utf-16-be"), "it is in UTF-16: save it as UTF-8"),
}


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_a_file_of_another_kind_is_told_what_to_do(tmp_path, name):
    data, fix = OTHER_KINDS[name]
    (tmp_path / name).write_bytes(data)
    assert refusal(tmp_path / name) == f"model: got {name!r}; {fix}"
    assert refusal(write(tmp_path, main=INCLUDE.format(name))) == f"model: got {name!r}; {fix}"


@pytest.mark.parametrize("name", ["a.mjb", "renamed.xml"])
def test_a_compiled_file_is_told_how_to_come_in(tmp_path, name):
    compiled = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{HINGE}</worldbody></mujoco>")
    mujoco.mj_saveModel(compiled, str(tmp_path / name), None)
    told = refusal(tmp_path / name)
    assert told.startswith(f"model: got {name!r}; it is compiled (MJB): give the XML that it was made from;")
    assert "mujoco.MjModel.from_binary_path" in told
    (tmp_path / "a.mjb").write_bytes((tmp_path / name).read_bytes())
    assert load(mujoco.MjModel.from_binary_path(str(tmp_path / "a.mjb"))).nq == 1
    with pytest.raises(ConfigError, match="it is compiled"):
        robot(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: got 'no element found'; the file ends too soon; MJCF is <mujoco> ... </mujoco>"),
        (" \n", "line 2: got 'no element found'; the file ends too soon"),
        ("{}", "line 1: got 'not well-formed (invalid token)'; this is not XML; MJCF is"),
        ("v 0 0 0", "line 1: got 'syntax error'; this is not XML; MJCF is"),
        ("<html/>", "line 1, <html>: got '<html>'; an MJCF file is <mujoco> ... </mujoco>"),
        ("<robot name='r'/>", "an MJCF file is <mujoco> ... </mujoco>; compile it with mujoco.MjModel, and load that"),
    ],
)
def test_a_text_of_another_kind_is_told_what_mjcf_is(tmp_path, text, told):
    assert told in refusal(write(tmp_path, main=text))
