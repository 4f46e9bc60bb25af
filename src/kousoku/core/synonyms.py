"""Words of other libraries, and ours: the one table that Python and the shell read.

`SAME` are names of settings and hyper-parameters that mean exactly what ours mean, and are taken for them. Where the
meaning differs, a name is in `NEAR` and is answered with ours. Ids and commands of others are answered with ours, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection

SAME: dict[str, tuple[str, ...]] = {
    "total_timesteps": ("steps",),
    "num_timesteps": ("steps",),
    "total_steps": ("steps",),
    "n_seeds": ("seeds",),
    "num_seeds": ("seeds",),
    "n_eval_episodes": ("eval_episodes", "episodes"),
    "env_kwargs": ("env_options",),
    "agent_kwargs": ("agent_options",),
    "gamma": ("discount",),
    "discount_factor": ("discount",),
    "discounting": ("discount",),
    "lr": ("learning_rate", "step_size"),
    "alpha": ("learning_rate", "step_size"),
    "learning_rate": ("step_size",),
    "step_size": ("learning_rate",),
    "n_envs": ("num_envs",),
    "lam": ("gae_lambda", "lambda_"),
    "gae_lambda": ("lambda_",),
    "ent_coef": ("entropy_coefficient",),
    "entropy_coef": ("entropy_coefficient",),
    "entropy_cost": ("entropy_coefficient",),
    "clip_range": ("clip",),
    "clip_coef": ("clip",),
    "clip_eps": ("clip",),
    "clipping_epsilon": ("clip",),
    "clip_range_vf": ("value_clip",),
    "n_epochs": ("epochs",),
    "update_epochs": ("epochs",),
    "num_minibatches": ("minibatches",),
    "max_grad_norm": ("max_gradient_norm",),
    "normalize_advantage": ("normalise_advantages",),
    "normalize_advantages": ("normalise_advantages",),
    "norm_adv": ("normalise_advantages",),
    "normalize_observations": ("normalise_observations",),
    "normalize_rewards": ("normalise_rewards",),
    "center_rewards": ("centre_rewards",),
    "prioritized": ("prioritised",),
    "buffer_size": ("capacity",),
    "n_delta": ("num_directions",),
    "n_top": ("top_directions",),
    "delta_std": ("noise_std",),
    "sigma": ("noise_std",),
    "popsize": ("population_size",),
    "pop_size": ("population_size",),
    "center_learning_rate": ("learning_rate",),
    "stdev_learning_rate": ("std_learning_rate",),
    "stdev_init": ("noise_std",),
    "stdev_max_change": ("max_std_change",),
    "replay_size": ("capacity",),
    "policy_lr": ("learning_rate",),
    "actor_lr": ("learning_rate",),
}
"""{their name: ours with exactly the same meaning}: the first that the agent or the command has."""

OPEN: dict[str, tuple[str, ...]] = {
    "alpha": ("priority_alpha", "temperature", "munchausen_alpha", "learning_rate"),
    "eps": ("epsilon", "adam_epsilon", "rmsprop_epsilon"),
    **dict.fromkeys(("policy", "actor"), ("hidden", "network")),
    "critic": ("critic_hidden", "hidden", "network"),
}
"""{a name that stands for several things: all that it may be}; one of `SAME` does where an agent has the first."""

_STEPS = ("steps", "environment steps of each agent in all")
_DEVICES = ("devices", "their number; the variable JAX_PLATFORMS says of which kind")

_RATIO = ("update_ratio", "gradient steps for each environment step")

NEAR: dict[str, tuple[str, str]] = {
    "vf_coef": ("value_coefficient", "which weighs half the squared error; Stable-Baselines3's weighs all of it"),
    "value_coef": ("value_coefficient", "which weighs half the squared error"),
    "n_steps": ("num_steps", "the steps of each environment between two rounds of learning"),
    "unroll_length": ("num_steps", "the steps of each environment between two rounds of learning"),
    "rollout_length": ("num_steps", "the steps of each environment between two rounds of learning"),
    "train_freq": ("num_steps", "the steps of each environment between two rounds of learning"),
    "train_frequency": ("num_steps", "the steps of each environment between two rounds of learning"),
    "batch_size": ("minibatches", "the parts of a rollout: num_envs * num_steps / batch_size"),
    "minibatch_size": ("minibatches", "the parts of a rollout: num_envs * num_steps / minibatch_size"),
    "horizon": ("num_steps", "the steps of each environment between two rounds of learning"),
    "target_update_interval": ("target_period", "which counts gradient steps"),
    "target_network_frequency": ("target_period", "which counts gradient steps"),
    "exploration_fraction": ("epsilon", "which may be a schedule, such as linear:1.0:0.05:20%"),
    "exploration_initial_eps": ("epsilon", "which may be a schedule, such as linear:1.0:0.05:20%"),
    "exploration_final_eps": ("epsilon", "which may be a schedule, such as linear:1.0:0.05:20%"),
    "start_e": ("epsilon", "which may be a schedule, such as linear:1.0:0.05:20%"),
    "end_e": ("epsilon", "which may be a schedule, such as linear:1.0:0.05:20%"),
    "anneal_lr": ("learning_rate", "which may be a schedule, such as linear:3e-4:0:100%"),
    "net_arch": ("hidden", "the widths of the dense layers"),
    "hidden_sizes": ("hidden", "the widths of the dense layers"),
    "hidden_size": ("hidden", "the widths of the dense layers"),
    "n_episodes": ("steps", "as training is counted in environment steps"),
    "num_episodes": ("steps", "as training is counted in environment steps"),
    "episodes": ("steps", "as training is counted in environment steps"),
    **dict.fromkeys(("max_steps", "max_timesteps", "frames", "num_frames", "total_frames", "max_frames"), _STEPS),
    "grid": ("map", "which is drawn in characters"),
    "desc": ("custom_map", "which is Gymnasium's desc"),
    **dict.fromkeys(("ent_coef", "entropy_coef"), ("temperature", "the weight of the entropy, learned by default")),
    **dict.fromkeys(("init_alpha", "init_temperature"), ("temperature", "its value at first")),
    "autotune": ("learn_temperature", "true or false"),
    "policy_frequency": ("policy_delay", "gradient steps of the critics for each of the actor's"),
    **dict.fromkeys(("max_episode_steps", "max_episode_length", "episode_length"), ("time_limit", "in steps")),
    "eps": ("epsilon", "the probability of a random action"),
    "eval_freq": ("eval_every", "which counts environment steps of each agent"),
    "save_freq": ("checkpoint_every", "which counts environment steps of each agent"),
    "checkpoint_freq": ("checkpoint_every", "which counts environment steps of each agent"),
    "save_path": ("out", "the run folder"),
    **dict.fromkeys(("output_dir", "log_dir", "logdir", "save_dir", "run_dir"), ("out", "the run folder")),
    **dict.fromkeys(("tensorboard_log", "use_tensorboard"), ("log", "with the value tensorboard")),
    **dict.fromkeys(("use_wandb", "track"), ("log", "with the value wandb")),
    **dict.fromkeys(("callback", "callbacks"), ("on_report", "a function that is called with each report")),
    "verbose": ("progress", "which shows a progress bar"),
    **dict.fromkeys(("gradient_steps", "utd", "utd_ratio", "replay_ratio"), _RATIO),
    **dict.fromkeys(("clip_vloss", "no_clip_vloss"), ("value_clip", "how far a value may move; none clips nothing")),
    **dict.fromkeys(("exp_name", "run_name", "tb_log_name"), ("out", "the run folder")),
    **dict.fromkeys(("wandb_project_name", "wandb_project", "wandb_entity"), ("log", "with the value wandb")),
    "policy_kwargs": ("hidden", "the widths of the dense layers; `activation` and others have options of their own"),
    "reset_num_timesteps": ("init_from", "which begins a new run with what another has learned"),
    **dict.fromkeys(("device", "gpus", "num_gpus", "use_cuda", "use_gpu"), _DEVICES),
}
"""{their name: (ours, what ours is)}, where the two do not mean exactly the same; `use_x` stands for x, too."""

_TRAIN_FREQ = ("update_ratio", "agents with a replay buffer have `update_ratio` for it")
_TARGET = ("tau", "the target follows by `tau` at each update")
ANSWERS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("train_freq", "train_frequency"), _TRAIN_FREQ),
    **dict.fromkeys(("target_update_interval", "target_network_frequency"), _TARGET),
}
"""{their name: (ours, what does it)}, where an agent has ours."""

_GOES_ON = "`kousoku resume RUN` and ks.resume(RUN) go on with a run, as it was begun"
_SWEEPS = "`kousoku sweep AGENT ENV --learning-rate 0.1,0.5` trains every combination"
_PLACES = "agent and environment are told by their places, the agent first: kousoku train AGENT ENV"
_EACH = "each setting and each of an agent's options has a name of its own, which `kousoku train AGENT --help` tells"
_FILMED = "the report of a run has a film of its best agent, and `kousoku view RUN --film` makes others"
_SAVED = "every run saves what it learned; `kousoku export RUN` makes a file of its policy"
_NONE = "it needs none here; leave it out"
OPTIONS_ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(
        ("resume", "resume_from", "resume_path", "resume_training", "restore", "restore_from", "continue"), _GOES_ON
    ),
    **dict.fromkeys(("sweep", "sweeps", "grid", "grid_search", "search_space"), _SWEEPS),
    **dict.fromkeys(("algo", "algorithm", "agent_id", "env_id", "env_name", "task"), _PLACES),
    **dict.fromkeys(("env", "agent"), _PLACES),
    **dict.fromkeys(("capture_video", "record_video", "save_video"), _FILMED),
    **dict.fromkeys(("save_model", "save_policy", "upload_model", "hf_entity"), _SAVED),
    **dict.fromkeys(("log_interval", "stats_window_size"), "`record_every` says of how many steps a report is"),
    **dict.fromkeys(
        ("optimize_memory_usage", "torch_deterministic", "rollout_buffer_class", "replay_buffer_class"), _NONE
    ),
    **dict.fromkeys(
        ("use_sde", "sde_sample_freq", "action_noise"), "noise is the agent's own: see its page, or --help"
    ),
    **dict.fromkeys(("policy", "actor", "critic", *ANSWERS), _NONE),
    **dict.fromkeys(("callback", "callbacks"), "in Python, `on_report` of ks.train is called with each report"),
    **dict.fromkeys(("no_cuda", "no_gpu"), "the variable JAX_PLATFORMS=cpu keeps it off a GPU"),
    **dict.fromkeys(("config", "config_file", "config_path", "cfg", "hparams", "hyperparams", "params"), _EACH),
}
"""{their name: what does it here}, where no setting or option does."""

_CONTINUOUS = "'sac' and 'td3' are near"
_POLICY_GRADIENT = "'a2c' and 'ppo' are near"
_VALUES = "'dqn' is near, and its options double and dueling"
_RAINBOW = "'dqn' is near, with its options dueling, n_step, prioritised, distribution and noisy"
_ATOMS = "'dqn' has it, with the option distribution"
_OFFLINE = "'iql' and 'td3_bc' learn values from recorded data"
_CLONING = "'bc' learns to do what recorded data do"

AGENTS_ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(("tqc", "redq", "mpo"), _CONTINUOUS),
    **dict.fromkeys(("crossq", "droq", "simba", "simba_v2"), "'sac' and 'td3' have it, with the option critic_body"),
    **dict.fromkeys(("reinforce", "vpg", "a3c", "acktr", "impala", "ppg", "ppo2", "trpo"), _POLICY_GRADIENT),
    **dict.fromkeys(("iqn", "fqf", "r2d2", "apex", "doubledqn", "duelingdqn"), _VALUES),
    "rainbow": _RAINBOW,
    **dict.fromkeys(("drqn", "recurrentdqn", "recurrentpqn"), "'pqn' has the option recurrent"),
    **dict.fromkeys(("sacdiscrete", "discretesac", "sacd"), "'sac' learns Discrete actions, too"),
    **dict.fromkeys(("c51", "qrdqn"), _ATOMS),
    **dict.fromkeys(("munchausendqn", "mdqn"), "'dqn' has it, with the option munchausen"),
    **dict.fromkeys(("ddqn", "d3qn"), _VALUES),
    **dict.fromkeys(("noisydqn", "noisynet"), "'dqn' has it, with the option noisy"),
    **dict.fromkeys(("recurrentppo", "ppolstm", "rppo"), "'ppo' has the option recurrent"),
    **dict.fromkeys(("shac", "bptt", "svg"), "'apg' is, with its critic"),
    **dict.fromkeys(("dreamer", "dreamerv3", "muzero", "alphazero", "mbpo"), "'dyna_q' plans with a model it learns"),
    **dict.fromkeys(("es", "naturales"), "'openai_es' is near, and 'ars' and 'pgpe'"),
    **dict.fromkeys(("cmaes", "cma", "sepcma"), "'sep_cma_es' is near; 'evosax' has it, with the strategy CMA_ES"),
    **dict.fromkeys(("ga", "geneticalgorithm", "pso", "de"), "'evosax' has it, with the strategy SimpleGA for one"),
    **dict.fromkeys(("neat", "hyperneat"), "'evosax' has strategies for policies of one shape"),
    **dict.fromkeys(("cql", "bcq", "bear", "awr", "awac", "crr", "edac", "rebrac", "xql"), _OFFLINE),
    **dict.fromkeys(("decisiontransformer", "dt"), f"{_OFFLINE}, {_CLONING}"),
    **dict.fromkeys(("gail", "airl", "behaviorcloning", "behaviourcloning", "behavioralcloning"), _CLONING),
    "td3plusbc": "'td3_bc' is",
    **dict.fromkeys(
        ("valueiteration", "policyiteration", "policyevaluation"), "planners are functions in kousoku.agents.planning"
    ),
}
"""{an agent's id elsewhere, in letters and digits: what there is of ours}."""

_NORMALISED = "agents do it as they learn: the option normalise_observations; by known numbers, 'standardise' does"
_SCALED = "agents do it as they learn: the option normalise_rewards"
_COUNTED = "it needs none: a run records the returns and lengths of episodes"
_AGAIN = "it needs none: training begins the next episode by itself"

WRAPPERS_ELSEWHERE: dict[str, str] = {
    **dict.fromkeys(("frameskip", "maxandskip", "skipframe", "actionrepeat"), "use 'repeat_action'"),
    **dict.fromkeys(("normalize", "normalise", "normalizeobs", "vecnormalize"), _NORMALISED),
    **dict.fromkeys(("normalizereward", "normalizereturn", "normalisereward", "normalizevecreward"), _SCALED),
    **dict.fromkeys(("gray", "grey", "greyscale", "warpframe"), "use 'grayscale', and 'resize'"),
    **dict.fromkeys(("recordepisodestatistics", "monitor", "log", "episode"), _COUNTED),
    **dict.fromkeys(("autoreset", "vmap"), _AGAIN),
    "recordvideo": "`kousoku view RUN --film` and `run.animate()` show episodes",
    **dict.fromkeys(
        ("atari", "ataripreprocessing"), "put 'repeat_action', 'grayscale', 'resize' and 'frame_stack' around it"
    ),
    "standardize": "use 'standardise'",
    **dict.fromkeys(("framestack", "vecframestack"), "use 'frame_stack'"),
    "grayscale": "use 'grayscale'",
    "resize": "use 'resize'",
    "flatten": "use 'flatten'",
    "rescale": "use 'rescale_observation'",
    "timelimit": "use 'time_limit'",
    "stickyactions": "use 'sticky_action'",
}
"""{a wrapper elsewhere, in letters, without "observation" and "wrapper" at its end: what does it here}."""

_ADD = "`kousoku.register` adds one's own"
_FIVE = "'MinAtar/Asterix-v1', '.../Breakout-v1', '.../Freeway-v1', '.../Seaquest-v1' and '.../SpaceInvaders-v1'"
_MINATAR = f"MinAtar's small ones are: {_FIVE}"
_GAMES = f"games are MinAtar's, such as 'MinAtar/Breakout-v1', and 'Blackjack-v1'; {_ADD}"
_ON_HOST = "are not here, but run on the host:"
_ATARI = f"Atari's {_ON_HOST} 'gymnasium:ALE/Pong-v5' with ale-py installed, 'envpool:Pong-v5' with envpool"
_DOMAINS = (
    "acrobot|ball_in_cup|cartpole|cheetah|finger|fish|hopper|humanoid|humanoid_cmu|lqr|manipulator|pendulum|"
    "point_mass|quadruped|reacher|stacker|swimmer|walker"
)
_TASKS = "balance|bring|catch|easy|fetch|hard|hop|insert|lqr|run|spin|stack|stand|swim|swingup|turn|upright|walk"
_KINDS = "sparse|ball|peg|easy|hard|2|4|2_1|6_2"

_MINIGRID = (
    "of MiniGrid's there are Empty, FourRooms, DoorKey, LavaGap, LavaCrossing, SimpleCrossing, Unlock, UnlockPickup, "
    "KeyCorridor, MultiRoom and Dynamic-Obstacles, such as 'MiniGrid-DoorKey-8x8-v0'; any map makes a 'CustomGrid-v0'"
)

ENVS_ELSEWHERE: dict[str, str] = {
    r"lunarlander": f"Box2D's {_ON_HOST} 'gymnasium:LunarLander-v3'",
    r"bipedalwalker": f"Box2D's {_ON_HOST} 'gymnasium:BipedalWalker-v3'; 'Walker2d-v5' is near",
    r"carracing": f"Box2D's {_ON_HOST} 'gymnasium:CarRacing-v3'",
    r"(ale|atari)[/:]|.*noframeskip|.*-ram-v\d": _ATARI,
    r"(breakout|spaceinvaders|seaquest|asterix|freeway)(-v\d+)?$": f"{_ATARI}; {_MINATAR}",
    r"(pong|qbert|mspacman|beamrider|enduro)(-v\d+)?$": _ATARI,
    r"minatar(?!/(asterix|breakout|freeway|seaquest|spaceinvaders)-v[01]$)|.*-minatar": f"MinAtar's are {_FIVE}",
    r"(bsuite/)?(mnist|mnistbandit|\w+_noise|\w+_scale)(-bsuite|-v\d+)?$": (
        "of bsuite there is the core, such as 'bsuite/catch-v0'; `kousoku list bsuite` names it"
    ),
    r"(simplebandit|umbrellachain|memorychain|discountingchain|deepsea|catch)(-bsuite|-v\d+)?$": (
        "bsuite's problems are 'bsuite/bandit-v0', 'bsuite/umbrella_length-v0', 'bsuite/memory_len-v0', "
        "'bsuite/discounting_chain-v0', 'bsuite/deep_sea-v0' and 'bsuite/catch-v0'"
    ),
    r"craftax": "Craftax has it, by an id such as 'craftax:Craftax-Symbolic-v1'",
    r"navix-": "Navix has it, by an id such as 'navix:Navix-Empty-8x8-v0'",
    r"xland": "XLand-MiniGrid has it, by an id such as 'xminigrid:XLand-MiniGrid-R1-9x9'",
    r"(brax|gymnax|jumanji|pgx|playground|xminigrid)[/.]": "its ids have a colon, such as 'gymnax:Catch-bsuite'",
    r"(procgen|nethack|nle|minerl|crafter|vizdoom|miniworld)": f"it is not here; {_GAMES}",
    r"minigrid(?!-(empty|fourrooms|doorkey|lava|simplecrossing|unlock|keycorridor|multiroom|dynamic).*-v\d)": _MINIGRID,
    r"babyai": _MINIGRID,
    rf"dm_control(?!/({_DOMAINS})-)|dmc|({_DOMAINS})[-_]({_TASKS})(_({_KINDS}))?(-v\d+)?$": (
        "of dm_control's suite there are tasks such as 'dm_control/walker-walk-v0'; `kousoku list dm_control` has all"
    ),
    r"fetch|hand(reach|manipulate)|adroit|antmaze|pointmaze|frankakitchen|panda": (
        f"Gymnasium-Robotics's are not here; arms are 'Reacher-v5' and 'Pusher-v5'; {_ADD}"
    ),
}
"""{pattern of the beginning of an environment's id elsewhere, in small letters: what there is of ours}."""

COMMANDS_ELSEWHERE: dict[str, str] = {
    "play": "`kousoku view RUN --film` shows what was learned, `kousoku evaluate RUN` counts its returns",
    "enjoy": "`kousoku view RUN --film` shows what was learned, `kousoku evaluate RUN` counts its returns",
    "watch": "`kousoku view RUN --film` shows what was learned",
    "render": "`kousoku view RUN --film --out FILE` makes a film, `kousoku view ENV` shows an environment",
    "plot": "`kousoku view RUN` opens its report, with all curves; the pictures lie beside it",
    "report": "`kousoku view RUN` opens it, `kousoku view RUN --rebuild` writes it anew",
    "test": "`kousoku evaluate RUN` plays greedy episodes",
    "continue": "`kousoku resume RUN` goes on with a run",
    **dict.fromkeys(("run", "learn", "fit"), "`kousoku train AGENT ENV` trains"),
    **dict.fromkeys(("agents", "envs", "show"), "`kousoku list agents` and `kousoku list envs` show what there is"),
    **dict.fromkeys(
        ("delete", "remove", "clean", "rm"),
        "a run is a folder, to be removed as any; `kousoku cache --clear` is for the cache",
    ),
    **dict.fromkeys(("stop", "kill"), "Ctrl-C stops a run where it was started; `kousoku resume RUN` goes on with it"),
    "tune": _SWEEPS,
    "info": "`kousoku list ID` tells of an agent or an environment, `kousoku doctor` of this machine",
}
"""{a command elsewhere: ours}."""


FORMER: dict[str, str] = {
    "best_lane": "best_member",
    "lanes": "population",
    "num_lanes": "num_members",
    "lane_seed": "member_seed",
    "lane_point": "member_point",
}
"""{a former name of an attribute of runs and evaluations: what it is now}."""


def former_name(thing: object, name: str) -> AttributeError:
    """Returns the error for an attribute that a thing has not, with its name of today where it has another one.

    Examples:
        >>> former_name(range(3), "size")
        AttributeError("'range' object has no attribute 'size'")
    """
    told = f"{type(thing).__name__!r} object has no attribute {name!r}"
    now = FORMER.get(name)
    if now is not None and _has(type(thing), now):
        told += f": it is {now!r} now"
    return AttributeError(told)


def _has(kind: type, name: str) -> bool:
    """Returns whether things of a kind have an attribute, without asking one of them for it."""
    return hasattr(kind, name) or name in getattr(kind, "__annotations__", {})


def our_name(name: str, known: Collection[str]) -> str:
    """Returns the known name that means exactly the same; the name itself if it is known, or none does for certain.

    Examples:
        >>> our_name("gamma", ["discount"]), our_name("gamma", ["gamma", "discount"]), our_name("gamma", [])
        ('discount', 'gamma', 'gamma')
        >>> our_name("alpha", ["learning_rate"]), our_name("alpha", ["learning_rate", "priority_alpha"])
        ('learning_rate', 'alpha')
    """
    if OPEN.get(name, ("",))[0] in known:
        return name
    return name if name in known else next((ours for ours in SAME.get(name, ()) if ours in known), name)


def meant(name: str, known: Collection[str]) -> str | None:
    """Returns a hint at what means the same or nearly so, mostly a known name; None for a word that is in no table.

    Names may be written as in Python or as in the shell, an environment's with their prefix or without it.

    Examples:
        >>> meant("--save-freq", ["--steps", "--checkpoint-every"])
        "use '--checkpoint-every', which counts environment steps of each agent"
        >>> meant("--map", ["--wrap", "--env.map"])
        "did you mean '--env.map'?"
    """
    plain, written = _plain(name).removeprefix("env."), {_plain(each): each for each in known}
    if found := written.get(plain) or written.get(f"env.{plain}"):
        return f"did you mean {found!r}?"
    maybe = [repr(written[each]) for each in OPEN.get(plain, ()) if each in written]
    if len(maybe) > 1:
        return f"use {', '.join(maybe[:-1])} or {maybe[-1]}, whichever is meant"
    same = SAME.get(plain, ())
    if found := next((written[_plain(ours)] for ours in same if _plain(ours) in written), None):
        return f"use {found!r}"
    ours, what = _near(plain)
    if found := written.get(ours) or written.get(f"env.{ours}"):
        return f"use {found!r}, {what}"
    if maybe:
        return f"use {maybe[0]}"
    needed, answer = ANSWERS.get(plain, ("", ""))
    if needed in written:
        return answer
    missing = f"it means {same[0]!r}, which does not exist here" if same and not is_elsewhere(name) else None
    return OPTIONS_ELSEWHERE.get(plain, missing)


def near_name(name: str) -> str | None:
    """Returns our name for nearly the same; None for a word that is in no table."""
    return _near(name)[0] or None


def _near(name: str) -> tuple[str, str]:
    """Returns our name for nearly the same, and what that is; nothing for a word that is in no table."""
    plain = _plain(name)
    return NEAR.get(plain) or NEAR.get(f"use_{plain}") or ("", "")


def leading_to(known: Collection[str], name: str = "") -> list[str]:
    """Returns words of other libraries that are answered with a known name, written as those are.

    Args:
        known: the names.
        name: one that was written; words that it is a part of are left out, for "actor" is no slip of "actor_lr".

    Examples:
        >>> leading_to(["--value-coefficient"]), leading_to(["--value-coefficient"], "--vf")
        (['--vf-coef', '--value-coef'], ['--value-coef'])
    """
    ours = {_plain(name) for name in known}
    same = [word for word, names in SAME.items() if any(_plain(name) in ours for name in names)]
    near = [word for word, (name, _) in NEAR.items() if name in ours]
    shell = all(name.startswith("-") for name in known)
    part = f"_{_plain(name)}_"
    words = [word for word in (*same, *near) if part not in f"_{word}_"]
    return ["--" + word.replace("_", "-") if shell else word for word in words]


def is_word(name: str) -> bool:
    """Returns whether a name is a word of other libraries, which is no slip of one that is rather like it."""
    return any(_plain(name) in table for table in (SAME, OPEN, NEAR, OPTIONS_ELSEWHERE))


def is_elsewhere(name: str) -> bool:
    """Returns whether a name is one of ours, of a setting or of an agent's option, that others are answered with."""
    ours = {name for names in SAME.values() for name in names} | {name for name, _ in NEAR.values()}
    return _plain(name) in {_plain(name) for name in ours}


def _plain(name: str) -> str:
    """Returns a name in small letters without what the shell writes around and between its words."""
    return name.casefold().lstrip("-").replace("-", "_").rstrip("_")


LIBRARIES = {
    "gym": "gymnasium",
    "xland": "xminigrid",
    "xlandminigrid": "xminigrid",
    "mujocoplayground": "playground",
}
"""{another name of a library, in letters and digits: the prefix of its ids}."""


def elsewhere(kind: str, id: str) -> str | None:
    """Returns what there is instead of an agent, environment or wrapper of other libraries; None of an unknown one."""
    letters = re.sub(r"[\W_]", "", id.casefold())
    if kind == "agent":
        told = AGENTS_ELSEWHERE.get(letters)
        return told and f"it is not here; {told}"
    if kind == "wrapper":
        return WRAPPERS_ELSEWHERE.get(re.sub(r"(observation|wrapper)s?$", "", letters))
    return next((told for pattern, told in ENVS_ELSEWHERE.items() if re.match(pattern, id.casefold())), None)
