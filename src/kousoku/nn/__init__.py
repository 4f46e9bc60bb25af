"""Networks: bodies, heads, actor-critics and networks of action values.

Everything is of one environment, without a batch axis: `jax.vmap` makes many. A network is a pytree whose leaves are
its float32 parameters; sizes and names of activations are static.
"""

from ..core.flat import flat_size, flattened
from .actor_critic import ActorCritic, ActorCriticConfig, build
from .actor_q import ActorQ, ActorQBuilder, ActorQConfig
from .actors import CategoricalActor, DeterministicActor, NormalActor, SquashedNormalActor
from .atoms import AtomsHead, CategoricalAtoms, DistributionalQNetwork, GaussianBins, QuantileAtoms
from .batch_renorm import BatchRenorm
from .boxes import clip_to
from .cnn import CNN
from .critics import StateActionValue, StateActionValues
from .fits import check_network
from .heads import (
    BetaHead,
    CategoricalHead,
    HeadBuilder,
    MultiCategoricalHead,
    NormalHead,
    PolicyHead,
    TanhNormalHead,
    ValueHead,
    head_for,
)
from .hidden import DropoutMLP, HiddenBody, RenormMLP, SimBa
from .hyperspherical import SimBaV2, UnitDense, UnitGaussian, UnitHead
from .initialise import INITIALISERS, he_normal, lecun_normal, orthogonal, uniform_fan_in, zeros
from .layers import ACTIVATIONS, Dense, LayerNorm
from .mlp import MLP
from .network import Carry, Network, NetworkBuilder
from .noisy import NoisyDense
from .policy_network import PolicyConfig, PolicyNetwork
from .q_network import DuelingHead, QFunction, QNetwork, QNetworkBuilder, QNetworkConfig, RecurrentQNetwork
from .recurrent import GRU, LSTM
from .torso import Torso, VectorBody, body_for

NETWORK_CONFIGS = (ActorCriticConfig, ActorQConfig, QNetworkConfig, PolicyConfig)
"""Configs that build a network: their fields are options of the agents that take them."""

__all__ = [
    "ACTIVATIONS",
    "CNN",
    "GRU",
    "INITIALISERS",
    "LSTM",
    "MLP",
    "NETWORK_CONFIGS",
    "ActorCritic",
    "ActorCriticConfig",
    "ActorQ",
    "ActorQBuilder",
    "ActorQConfig",
    "AtomsHead",
    "BatchRenorm",
    "BetaHead",
    "Carry",
    "CategoricalActor",
    "CategoricalAtoms",
    "CategoricalHead",
    "Dense",
    "DeterministicActor",
    "DistributionalQNetwork",
    "DropoutMLP",
    "DuelingHead",
    "GaussianBins",
    "HeadBuilder",
    "HiddenBody",
    "LayerNorm",
    "MultiCategoricalHead",
    "Network",
    "NetworkBuilder",
    "NoisyDense",
    "NormalActor",
    "NormalHead",
    "PolicyConfig",
    "PolicyHead",
    "PolicyNetwork",
    "QFunction",
    "QNetwork",
    "QNetworkBuilder",
    "QNetworkConfig",
    "QuantileAtoms",
    "RecurrentQNetwork",
    "RenormMLP",
    "SimBa",
    "SimBaV2",
    "SquashedNormalActor",
    "StateActionValue",
    "StateActionValues",
    "TanhNormalHead",
    "Torso",
    "UnitDense",
    "UnitGaussian",
    "UnitHead",
    "ValueHead",
    "VectorBody",
    "body_for",
    "build",
    "check_network",
    "clip_to",
    "flat_size",
    "flattened",
    "he_normal",
    "head_for",
    "lecun_normal",
    "orthogonal",
    "uniform_fan_in",
    "zeros",
]
