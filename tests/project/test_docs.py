"""The documentation says what the code does: pages, tables of hyper-parameters, links, commands."""

from __future__ import annotations

import ast
import inspect
import math
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import jax
import pytest
from forked import forked
from jaxtyping import TypeCheckError

import kousoku
from kousoku.agents import AGENTS, planning
from kousoku.agents.evolution.strategy import EvolutionStrategy
from kousoku.agents.exploration import EXPLORATIONS, Exploration
from kousoku.cli import main
from kousoku.cli.bench import BENCHMARKS
from kousoku.collectors.slot import kernel_slots
from kousoku.core.errors import ConfigError
from kousoku.envs import ENVS
from kousoku.nn import (
    ACTIVATIONS,
    INITIALISERS,
    NETWORK_CONFIGS,
    ActorCriticConfig,
    ActorQConfig,
    PolicyConfig,
    QNetworkConfig,
)
from kousoku.nn.actor_q import ACTORS
from kousoku.nn.gaussian import STDS
from kousoku.nn.heads import KINDS
from kousoku.nn.hidden import ACTOR_KINDS, CRITIC_KINDS
from kousoku.nn.torso import BODIES, RECURRENT
from kousoku.ops.schedules import FORMS, SCHEDULES, Linear, parse_schedule
from kousoku.training.config import TrainConfig
from kousoku.training.io import checkpoints, run_folder
from kousoku.training.loop.iteration import start
from kousoku.training.metrics.metric_sums import Recording

ROOT = Path(__file__).parents[2]
AGENT_PAGES = ROOT / "docs" / "agents"
NESTED = {"exploration": "exploration-and-schedules.md", "network": "networks.md"}  # options with a page of their own
PLANNERS = ("policy_evaluation", "policy_iteration", "value_iteration")
FRONT_PAGES = [ROOT / name for name in ("README.md", "README.ja.md", "CONTRIBUTING.md")]
PAGES = FRONT_PAGES + sorted((ROOT / "docs").rglob("*.md"))
SECTIONS = (
    "What it is", "When to use it", "Equations", "In Kousoku", "Hyper-parameters", "Metrics", "Pitfalls", "References",
)  # fmt: skip
INTERVAL = re.compile(r"`([\[(])([^\s,]+), ([^\s,\])]+)([\])])`")
COUNTS = re.compile(r"`(\d+)\.\.(\d+|∞)`")
WORDS = re.compile(r"`(\"\w+\"|True|False|None)`")


def section(page: Path, title: str) -> str:
    """What stands below a heading, up to the next one of its level."""
    parts = re.split(r"^## (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[title]


def table(text: str) -> list[list[str]]:
    """The cells of the first table's rows, without its heading."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def code_blocks(page: Path, language: str) -> list[str]:
    """The code between ```language and ```."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[list[str]]:
    """The words of every shell line of a page that has a command of ours."""
    lines = [line for block in code_blocks(page, "sh") for line in block.splitlines()]
    split = [shlex.split(line, comments=True) for line in lines]
    return [words for words in split if words and Path(words[0]).name in ("kousoku", "make")]


def relative(page: Path) -> str:
    """A page's name in the tests' output."""
    return str(page.relative_to(ROOT))


def documented(agent_id: str) -> dict[str, list[str]]:
    """{name: [default, range, meaning]} of an agent's page."""
    return {name.strip("`"): rest for name, *rest in table(section(AGENT_PAGES / f"{agent_id}.md", "Hyper-parameters"))}


def accepts(make: Any, name: str, value: Any) -> bool:
    """Whether a constructor takes a value. The type checker of the tests may refuse it before the constructor does."""
    try:
        make(**{name: value})
    except (ConfigError, TypeCheckError):
        return False
    return True


def check_interval(make: Any, name: str, opening: str, low: str, high: str, closing: str) -> None:
    for bracket, end, beyond in ((opening, float(low), -1.0), (closing, float(high.replace("∞", "inf")), 1.0)):
        if math.isinf(end):
            assert accepts(make, name, beyond * 1e6)
            assert accepts(make, name, end) == (bracket in "[]"), f"{name}: is {end} allowed?"
            continue
        assert accepts(make, name, end) == (bracket in "[]"), f"{name}: is {end} allowed?"
        assert not accepts(make, name, end + beyond * max(1.0, abs(end))), f"{name}: beyond {end} should be refused"


def check_range(make: Any, name: str, said: str) -> None:
    """The range in a table is the range that the constructor enforces."""
    for opening, low, high, closing in INTERVAL.findall(said):
        check_interval(make, name, opening, low.replace("∞", "inf"), high, closing)
    for low, high in COUNTS.findall(said):
        assert accepts(make, name, int(low))
        assert not accepts(make, name, int(low) - 1)
        assert not accepts(make, name, int(low) + 0.5)
        if high != "∞":
            assert accepts(make, name, int(high))
            assert not accepts(make, name, int(high) + 1)
    words = [ast.literal_eval(word) for word in WORDS.findall(said)]
    assert all(accepts(make, name, word) for word in words)
    assert not accepts(make, name, "nonsense")
    assert accepts(make, name, None) == (None in words)


@pytest.mark.parametrize("agent_id", AGENTS.ids())
class TestAgentPages:
    def test_the_page_has_every_section_and_an_example(self, agent_id):
        text = (AGENT_PAGES / f"{agent_id}.md").read_text(encoding="utf-8")
        headings = [heading for heading in re.findall(r"^## (.*)$", text, re.MULTILINE) if heading in SECTIONS]
        assert headings == list(SECTIONS)
        assert ">>> " in section(AGENT_PAGES / f"{agent_id}.md", "In Kousoku")

    def test_the_index_names_it(self, agent_id):
        assert f"| `{agent_id}` | [" in (AGENT_PAGES / "README.md").read_text(encoding="utf-8")
        assert f"]({agent_id}.md) |" in (AGENT_PAGES / "README.md").read_text(encoding="utf-8")

    def test_the_table_has_the_agents_options_and_defaults(self, agent_id):
        options, said = AGENTS.options(agent_id), documented(agent_id)
        assert list(said) == list(options)
        for name, parameter in options.items():
            default, cell = parameter.default, said[name][0].strip("`")
            if isinstance(default, (Exploration, *NETWORK_CONFIGS)):
                assert said[name][1] == f"[these]({NESTED[name]})"
                assert eval(cell, {type(default).__name__: type(default)}) == default
            else:
                value = ast.literal_eval(cell)
                value = parse_schedule(name, value) if isinstance(value, str) and ":" in value else value
                assert (value, type(value)) == (default, type(default)), name

    def test_ranges_schedules_and_structure_are_as_said(self, agent_id):
        def make(**options):
            return AGENTS.make(agent_id, **options)

        fields = {field.name: field for field in make().__dataclass_fields__.values()}
        for name, (_, bounds, meaning) in documented(agent_id).items():
            assert fields[name].metadata.get("static", False) == ("(structure)" in meaning), name
            if name in NESTED:
                continue
            check_range(make, name, bounds)
            assert accepts(make, name, Linear(0.5, 0.25, 10)) == ("schedule" in meaning), name


@pytest.mark.parametrize("name", PLANNERS)
def test_the_planners_tables_are_their_signatures(name):
    parameters = inspect.signature(getattr(planning, name)).parameters
    said = {
        cells[0].strip("`"): cells[1].strip("`") for cells in table(section(AGENT_PAGES / f"{name}.md", "Arguments"))
    }
    assert list(said) == list(parameters)
    for argument, parameter in parameters.items():
        if parameter.default is parameter.empty:
            assert said[argument] == "required"
        else:
            assert float(said[argument]) == parameter.default
    assert f"]({name}.md) |" in (AGENT_PAGES / "README.md").read_text(encoding="utf-8")


def test_the_table_of_explorations():
    rows = table(section(AGENT_PAGES / "exploration-and-schedules.md", "Exploration"))
    assert [row[0].strip("`") for row in rows] == list(EXPLORATIONS)
    for name, option, default, bounds, _ in rows:
        kind, field = EXPLORATIONS[name.strip("`")], option.strip("`")
        assert list(inspect.signature(kind).parameters) == [field]
        assert getattr(kind(), field) == float(default.strip("`"))
        check_range(kind, field, bounds)


@pytest.mark.parametrize(
    ("title", "config"),
    [
        ("The usual ones", ActorCriticConfig),
        ("Of action values", QNetworkConfig),
        ("Of actor and critics", ActorQConfig),
        ("Deterministic policies", PolicyConfig),
    ],
)
def test_the_tables_of_networks(title, config):
    rows = {row[0].strip("`"): row[1:] for row in table(section(AGENT_PAGES / "networks.md", title))}
    fields = config.__dataclass_fields__
    choices = {
        "activation": ACTIVATIONS, "recurrent": (*RECURRENT, None), "body": BODIES, "std": STDS, "init": INITIALISERS,
        "policy": ACTORS if config is ActorQConfig else KINDS, "actor_body": ACTOR_KINDS, "critic_body": CRITIC_KINDS,
    }  # fmt: skip
    assert list(rows) == list(fields)
    for name, (said, bounds, _) in rows.items():
        default = math.sqrt(2.0) if said == "`sqrt(2)`" else ast.literal_eval(said.strip("`"))
        assert (default, type(default)) == (fields[name].default, type(fields[name].default)), name
        if bounds == "as above":
            continue
        check_range(config, name, bounds)
        if name in choices:
            assert [ast.literal_eval(word) for word in WORDS.findall(bounds)] == list(choices[name])
    for name in {"hidden", "critic_hidden"} & set(fields):
        assert accepts(config, name, (8, 1))
        assert not accepts(config, name, (8, 0))


@pytest.mark.by_default("pgpe-options10", "ppo-options0", "pqn-options4", "sep_cma_es-options11")
@pytest.mark.parametrize(
    ("agent_id", "options"),
    [
        ("ppo", {"target_kl": 0.1}),
        ("a2c", {}),
        ("apg", {}),
        ("dqn", {}),
        *[(id, {}) for id in ("pqn", "sac", "td3", "ddpg")],
        *[(id, {}) for id in ("ars", "openai_es", "pgpe", "sep_cma_es")],
    ],
)
def test_the_table_of_metrics_has_what_an_update_reports(agent_id, options):
    env = kousoku.make("Pendulum-v1" if agent_id in ("apg", "sac", "td3", "ddpg") else "CartPole-v1")
    agent = AGENTS.make(agent_id, **options)
    state = jax.eval_shape(lambda: start(agent, env, kernel_slots(env), jax.random.key(0), Recording(metrics=True)))
    said = [row[0].strip("`") for row in table(section(AGENT_PAGES / f"{agent_id}.md", "Metrics"))]
    assert sorted(said) == sorted(state.metrics.metric_sums)


def test_the_37_details_are_37_and_name_what_there_is():
    text = section(AGENT_PAGES / "ppo.md", "The 37 details")
    rows, counts = table(text), dict.fromkeys(("Core", "Atari", "Continuous", "LSTM", "MultiDiscrete"), 0)
    for title, _ in rows:
        kind, first, last = re.match(r"(\w+) (\d+)(?: to (\d+))?:", title).groups()
        assert int(first) == counts[kind] + 1
        counts[kind] = int(last or first)
    assert list(counts.values()) == [13, 9, 9, 5, 1]
    metrics = [row[0].strip("`") for row in table(section(AGENT_PAGES / "ppo.md", "Metrics"))]
    known = {
        *AGENTS.options("ppo"),
        *ActorCriticConfig.__dataclass_fields__,
        *metrics,
        "initial_carry",
        "Box",
        "MultiDiscrete",
    }
    for said in re.findall(r"`(\w+)", text):
        assert said in known, said


def test_the_table_of_schedules():
    rows = table(section(AGENT_PAGES / "exploration-and-schedules.md", "Schedules"))
    assert [row[0].strip("`") for row in rows] == [FORMS[name] for name in SCHEDULES]
    for text, call, _ in rows:
        name, *places = text.strip("`").split(":")
        kind = SCHEDULES[name]
        arguments = [part.partition("=")[0] for part in re.findall(r"[(,] ?([a-z]+(?:=[\d.]+)?)", call)]
        assert arguments == list(inspect.signature(kind).parameters)
        assert call.startswith(f"`{kind.__name__}(")
        assert [place.lower() for place in places] == arguments[: len(places)]
        given = ["10" if place == "STEPS" else "0.5" for place in places]
        assert isinstance(parse_schedule("x", ":".join([name, *given])), kind)


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http://", "https://")):
            continue
        address, _, anchor = link.partition("#")
        target = (page.parent / address).resolve() if address else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings], link


WITHOUT_REPORTS_AND_FILMS = """
import jax
from kousoku import viz
from kousoku.training.loop import results
viz.write_report = lambda record, path: path
results.member_film = lambda *run: None
jax.config.update("jax_platforms", "cpu")
"""
"""Others draw reports and films; the README's own pictures are drawn."""


@pytest.mark.slow_because("what the README shows first is four trainings")
def test_the_python_in_the_readme_runs(tmp_path):
    code = "\n".join(code_blocks(ROOT / "README.md", "python"))
    fewer_steps = {
        "steps=100_000": "steps=10_000", "steps=50_000": "steps=200", "steps=200_000": "steps=4_096",
        '"ars", "CartPole-v1", ': '"ars", "CartPole-v1", steps=20_000, ',
    }  # fmt: skip
    for steps, fewer in fewer_steps.items():
        assert code.count(steps) == 1
        code = code.replace(steps, fewer)
    code = f"{WITHOUT_REPORTS_AND_FILMS}\n{code}"
    done = forked(code, environment=os.environ | {"MPLBACKEND": "agg"}, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "30 agents x 10000 steps, finished" in done.stdout
    for name in ("values.png", "returns.png", "path.gif"):
        assert (tmp_path / name).stat().st_size > 1000


def test_the_japanese_readme_has_the_same_code():
    def without_comments(page: Path) -> list[list[str]]:
        blocks = [block for language in ("sh", "python") for block in code_blocks(page, language)]
        return [[line.partition("#")[0].rstrip() for line in block.splitlines()] for block in blocks]

    assert without_comments(ROOT / "README.ja.md") == without_comments(ROOT / "README.md")


def test_the_japanese_readme_has_the_same_links_and_one_word_for_a_thing():
    pages = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.ja.md")}
    links = {
        name: {link for link in re.findall(r"\]\(([^)\s]+)\)", text) if link not in pages and link[0] != "#"}
        for name, text in pages.items()
    }
    assert links["README.ja.md"] == links["README.md"]
    for another in ("リターン", "球"):  # 収益 and ボール are the words
        assert another not in pages["README.ja.md"]


def test_what_the_demo_makes_is_what_the_first_page_says():
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndemo:")[2].partition("\n\n")[0]
    agents, text = re.findall(r"kousoku train (\w+)", recipe), (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    said = " ".join(section(ROOT / "docs" / "start.md", "Train, look, ask").split())
    assert f"their {('no', 'one', 'two', 'three', 'four')[len(agents)]} run folders" in said
    assert f"the newest one's report, {agents[-1].upper()}'s" in said
    assert {f"{id}-..." for id in agents[:-1]} == set(re.findall(r"kousoku view runs/(\S+)`", text))


class TestTheRunFoldersPage:
    PAGE = ROOT / "docs" / "runs.md"

    def test_the_table_has_all_that_a_run_writes(self):
        rows = table(self.PAGE.read_text(encoding="utf-8").partition("\n## ")[0])
        said = {name.strip("/") for cells in rows for name in re.findall(r"`([^`]+)`", cells[0])}
        assert {name for name in run_folder.WRITTEN if not name.endswith(".png")} <= said
        assert {"*.png", run_folder.CONFIG} <= said

    def test_the_formats_of_checkpoints_are_those_that_are_read(self):
        said = " ".join(section(self.PAGE, "Checkpoints").split())
        words = r"format is (\d+), and those of formats (\d+) to (\d+) are read still \(format (\d+)"
        (found,) = re.findall(words, said)
        today, first, last, of_arrays = map(int, found)
        assert today == checkpoints.FORMAT
        assert (*range(first, last + 1),) == checkpoints.FORMER
        assert of_arrays == checkpoints.FORMER[0]

    def test_it_says_what_each_agent_with_a_network_takes_over(self):
        said = section(self.PAGE, "Fine-tuning").lower()
        for id in AGENTS.ids():
            if "network" in AGENTS.options(id) and not issubclass(AGENTS.factory(id), EvolutionStrategy):
                title = (AGENT_PAGES / f"{id}.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
                assert re.search(rf"[( \n]{re.escape(title.lower())}[,)]", said), id
        assert "- of evolution the mean policy and the moments" in said

    def test_the_report_is_as_large_as_it_says(self):
        said, of = section(self.PAGE, "The report"), ROOT / "src" / "kousoku" / "viz" / "page"
        sizes = {file.name: file.stat().st_size / 1000 for file in of.iterdir()}
        (least,), (player,) = re.findall(r"from some (\d+) kB, most", said), re.findall(r"adds (\d+) kB", said)
        always = sum(size for name, size in sizes.items() if name.endswith((".js", ".css")) and name != "solid.js")
        assert 0.75 * int(least) < always < int(least)
        assert sizes["solid.js"] == pytest.approx(int(player), rel=0.05)


def test_the_descendants_of_sac_are_commands_with_the_settings_of_their_papers(monkeypatch):
    reached, page = [], AGENT_PAGES / "sac.md"

    def stop(*ids, **settings):
        reached.append((*ids, settings))
        raise _Reached

    monkeypatch.setattr("kousoku.api.train", stop)
    text = section(page, "Descendants")
    rows = {name: settings for name, settings, _ in table(text)}
    of = {row: dict(re.findall(r"`(\w+)=([^`]+)`", rows[row])) for row in ("CrossQ", "DroQ", "SimBa")}
    found = [words for words in commands(page) if "--critic-body" in words]
    for words, (row, settings) in zip(found, of.items(), strict=True):
        with pytest.raises(_Reached):
            main(words[1:])
        agent_id, env_id, given = reached.pop()
        said = {name: ast.literal_eval(value) for name, value in settings.items()}
        if "`target_entropy` minus half" in rows[row]:
            said["target_entropy"] = -kousoku.make(env_id).spec.action_space.shape[0] / 2
        assert given["agent_options"] == said, row
        assert not kousoku.preset(agent_id, env_id).options, "other settings would be those of the preset"
        agent = kousoku.make_agent(agent_id, **said)
        gradient_steps = (given["steps"] - agent.learning_starts) * agent.update_ratio
        assert gradient_steps <= 200_000
        assert f"{gradient_steps:,.0f}" in text, row


class _Reached(Exception):
    """A command was understood and is about to begin its work."""


COUNTDOWN = """
import kousoku as ks
ks.register("Countdown-v0", type(ks.make("CartPole-v1")))
"""
"""The file that a page imports as somebody's own."""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page) and page.name != "README.ja.md"], ids=relative
)
def test_shell_commands_are_real(page, monkeypatch, capsys):
    """The Japanese README has those of the English one, as the test before says."""
    reached = []

    def stop(*args, **settings):
        reached.append(settings)
        raise _Reached

    benchmarks = [f"kousoku_bench.{name.replace('-', '_')}.bench" for name in BENCHMARKS]
    for work in ("kousoku.api.train", "kousoku.api.resume", "kousoku.saved_runs.load", *benchmarks):
        monkeypatch.setattr(work, stop)
    asked = {"agent": {"id": "ppo"}, "env": {"id": "CartPole-v1"}}
    monkeypatch.setattr("kousoku.training.io.run_folder.read_config", lambda folder: asked)
    monkeypatch.setattr(ENVS, "_entries", dict(ENVS._entries))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "countdown", raising=False)
    Path("countdown.py").write_text(COUNTDOWN)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for words in commands(page):
        if words[0] == "make":
            assert [word for word in words[1:] if "=" not in word and word not in targets] == []
        elif words[1:] == ["view"]:
            assert main(["view"]) == 2
            assert "there is no run below runs/" in capsys.readouterr().err
        elif words[1] in ("list", "doctor", "cache"):
            assert main(words[1:]) == 0
        else:
            with pytest.raises(_Reached):
                print(main(words[1:]), capsys.readouterr().err)
            settings = reached.pop()
            TrainConfig(**{name: settings[name] for name in TrainConfig.__dataclass_fields__ if name in settings})
