"""The supervisor: goal, plan, delegations, consolidation, completion."""
