"""Streams: events in any order and a watermark in, matches out as soon as they are decided.

`watermark` has the one rule of time. `kept` holds what may still matter, `rows` and `events` match it for the two
languages, `session` is what hosts drive, `state` is how it is saved.
"""
