"""Files that a model is read from, beside C MuJoCo: which it may name, and names in any encoding."""

from __future__ import annotations

import os
from pathlib import Path

import mujoco
import pytest
from physics_mjcf import write

from kousoku.core.errors import ConfigError
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
