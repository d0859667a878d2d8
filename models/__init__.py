"""Networks: plain `torch.nn.Module` classes that know no clock and no radio.

Usage::

    network = models.build("relu-784-300-10")

A network that can be split into submodels says so as plain data, so that other kinds of network join by
declaration only:

    unit_groups     group name -> ((name, axis), ...): what one group of units cuts, of parameters and of
                    buffers
    moving_buffers  names of buffers that training moves; others are found by a trial
    relu_layers     (weight name, bias name or None) of every layer, inputs first, for a network that is only
                    fully connected layers with ReLU between

Parameters without requires_grad are frozen: they never travel, and all clients share them. A network of which
the server keeps a part has modules `central` and `local`, with `num_global_features` and
`num_central_outputs` (`vertical`).

Networks of one's own may use torch's dropout layers, whose masks the learner draws from the update's key.
Other randomness in a forward pass (functional.dropout, torch.rand, nn.RReLU, the dropout inside of nn.LSTM
and nn.MultiheadAttention) is refused.
"""

from models.families import FAMILIES, Family, build

__all__ = ["FAMILIES", "Family", "build"]
