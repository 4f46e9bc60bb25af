"""Environments that need no other package; dm_control's, whose files come with one, have tests of their own."""

import kousoku as ks

OWN_ENVS = [id for id in ks.list_envs() if not id.startswith("dm_control/")]
