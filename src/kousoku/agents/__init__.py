"""Agents by id. Importing this module imports none of them."""

from __future__ import annotations

from ..core.registry import Factory, Registry

AGENTS = Registry("agent", beside="kousoku.envs:ENVS", how="kousoku.make_agent")

_TABULAR = "kousoku.agents.tabular"
_BANDIT = "kousoku.agents.bandit"
_DEEP = "kousoku.agents.deep"
_EVOLUTION = "kousoku.agents.evolution"

AGENTS.register("q_learning", f"{_TABULAR}.q_learning:QLearning")
AGENTS.register("double_q_learning", f"{_TABULAR}.double_q_learning:DoubleQLearning")
AGENTS.register("sarsa", f"{_TABULAR}.sarsa:SARSA")
AGENTS.register("expected_sarsa", f"{_TABULAR}.expected_sarsa:ExpectedSARSA")
AGENTS.register("n_step_sarsa", f"{_TABULAR}.n_step_sarsa:NStepSARSA")
AGENTS.register("tree_backup", f"{_TABULAR}.tree_backup:TreeBackup")
AGENTS.register("watkins_q_lambda", f"{_TABULAR}.watkins_q_lambda:WatkinsQLambda")
AGENTS.register("sarsa_lambda", f"{_TABULAR}.sarsa_lambda:SARSALambda")
AGENTS.register("monte_carlo", f"{_TABULAR}.monte_carlo:MonteCarlo")
AGENTS.register("dyna_q", f"{_TABULAR}.dyna_q:DynaQ")
AGENTS.register("dyna_q_plus", f"{_TABULAR}.dyna_q_plus:DynaQPlus")
AGENTS.register("prioritized_sweeping", f"{_TABULAR}.prioritized_sweeping:PrioritizedSweeping")
AGENTS.register("bandit_epsilon_greedy", f"{_BANDIT}.epsilon_greedy:BanditEpsilonGreedy")
AGENTS.register(
    "bandit_optimistic", f"{_BANDIT}.epsilon_greedy:BanditEpsilonGreedy", epsilon=0.0, initial_value=5.0, step_size=0.1
)
AGENTS.register("bandit_ucb", f"{_BANDIT}.ucb:BanditUCB")
AGENTS.register("bandit_gradient", f"{_BANDIT}.gradient:BanditGradient")
AGENTS.register("bandit_thompson", f"{_BANDIT}.thompson:BanditThompson")
AGENTS.register("ppo", f"{_DEEP}.ppo:PPO")
AGENTS.register("a2c", f"{_DEEP}.a2c:A2C")
AGENTS.register("apg", f"{_DEEP}.apg:APG")
AGENTS.register("dqn", f"{_DEEP}.dqn:DQN")
AGENTS.register("pqn", f"{_DEEP}.pqn:PQN")
AGENTS.register("sac", f"{_DEEP}.sac:SAC")
AGENTS.register("td3", f"{_DEEP}.td3:TD3")
AGENTS.register("ddpg", f"{_DEEP}.td3:DDPG")
AGENTS.register("bc", f"{_DEEP}.bc:BC")
AGENTS.register("td3_bc", f"{_DEEP}.td3_bc:TD3BC")
AGENTS.register("iql", f"{_DEEP}.iql:IQL")
AGENTS.register("dagger", f"{_DEEP}.dagger:DAgger")
AGENTS.register("ars", f"{_EVOLUTION}.ars:ARS")
AGENTS.register("openai_es", f"{_EVOLUTION}.openai_es:OpenAIES")
AGENTS.register("pgpe", f"{_EVOLUTION}.pgpe:PGPE")
AGENTS.register("sep_cma_es", f"{_EVOLUTION}.sep_cma_es:SepCMAES")
AGENTS.register("evosax", f"{_EVOLUTION}.evosax:Evosax")
AGENTS.require("evosax", "evosax")

for _id, _summary in {
    "bandit_epsilon_greedy": "Epsilon-greedy action selection on a bandit.",
    "bandit_optimistic": "Greedy action selection on a bandit, from values that are too good at first.",
    "td3": "Twin delayed deep deterministic policy gradients.",
    "ddpg": "Deep deterministic policy gradients: TD3 without twin and without delay.",
}.items():
    AGENTS.summarise(_id, _summary)


def register_agent(id: str, factory: Factory) -> None:
    """Gives an agent of one's own an id, so that `kousoku.train` knows it."""
    AGENTS.register(id, factory)


def list_agents() -> list[str]:
    """Returns the ids of all agents, sorted."""
    return AGENTS.ids()
