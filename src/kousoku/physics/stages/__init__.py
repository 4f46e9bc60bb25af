"""The stages of the smooth dynamics, each a file, in the order in which `smooth.py` runs them.

    kinematics      frames of bodies                                        mj_kinematics
    com_pos         centres of mass, inertias, axes of motion               mj_comPos
    crb             the mass matrix                                         mj_makeM
    tendon          lengths of tendons, and what moves them                 mj_tendon
    com_vel         velocities of bodies                                    mj_comVel
    rne             Coriolis, centrifugal and gravity forces                mj_rne
    passive         springs, dampers, gravity compensation, fluid           mj_passive
    actuation       actuators                                               mj_transmission, mj_fwdActuation
    smooth          all of these, and the acceleration without constraints  mj_fwdAcceleration

`joints.py` has MuJoCo's joint types and walks along the kinematic tree, `apply_ft.py` turns forces at points into
generalised forces. `wrapping.py` is how tendons go round geoms, `muscle.py` what muscles pull with.

References:
    MuJoCo documentation, Computation, "Simulation pipeline".
"""
