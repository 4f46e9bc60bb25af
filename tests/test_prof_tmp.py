import time, jax, jax.numpy as jnp, numpy as np
from loops import run
from probes import chain
from kousoku.agents import AGENTS
from kousoku.training.interaction import lane_key
def go(OPT):
    for id in ("q_learning","sarsa","n_step_sarsa"):
        agent = AGENTS.make(id, learning_rate=.5, discount=.9)
        env = chain(np.zeros((1, 2), int), np.ones((1, 2)), time_limit=5)
        def lane(seed): return agent.q_values(run(agent, env, lane_key(seed), 6000)[0].agent_state)
        f=jax.jit(jax.vmap(lane)); x=jnp.arange(1,dtype=jnp.int32)
        t=time.process_time(); tr=f.trace(x); a=time.process_time(); lo=tr.lower(); b=time.process_time(); c=lo.compile(compiler_options=OPT); d=time.process_time(); jax.block_until_ready(c(x)); e=time.process_time()
        print(id, "trace",a-t,"lower",b-a,"compile",d-b,"run",e-d)
def test_x():
    for o in ({}, {"xla_backend_optimization_level": 0}, {"xla_llvm_disable_expensive_passes": True}, {"xla_backend_optimization_level": 1}):
        print(o); go(o)
