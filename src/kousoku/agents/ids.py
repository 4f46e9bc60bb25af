"""Ids of the agents that the library has, as a type: an editor completes them. A test keeps them right."""

from typing import Literal

AgentId = Literal[
    "a2c",
    "apg",
    "ars",
    "bandit_epsilon_greedy",
    "bandit_gradient",
    "bandit_optimistic",
    "bandit_thompson",
    "bandit_ucb",
    "double_q_learning",
    "dqn",
    "dyna_q",
    "dyna_q_plus",
    "evosax",
    "expected_sarsa",
    "monte_carlo",
    "n_step_sarsa",
    "openai_es",
    "pgpe",
    "ppo",
    "prioritized_sweeping",
    "q_learning",
    "sarsa",
    "sarsa_lambda",
    "sep_cma_es",
    "tree_backup",
    "watkins_q_lambda",
]
