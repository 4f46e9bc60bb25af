"""The core of bsuite: small problems, each of which tests one thing that an agent should be able to do."""
