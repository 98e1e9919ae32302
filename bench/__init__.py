"""`league dev bench`: what a league costs beside what its calls alone cost, on the machine at hand.

Every figure that matters is a ratio of two measurements of one run, because machines differ and their moments too.
"""
