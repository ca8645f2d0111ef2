"""How a query runs, as one value: `facts` say what is known, `costs` what things cost, `choose` makes the plan.

Nothing else decides. A host gathers facts, the engine runs the plan, `explain` prints it, tests pass one.
"""
