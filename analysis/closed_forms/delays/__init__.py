"""Delays: closed forms of waiting and sending, to which `cosim validate delay-laws` holds the clock."""
