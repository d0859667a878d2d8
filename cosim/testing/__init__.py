"""Testing: the laws that every part keeps, ours and a user's own.

Each check runs small systems that hold the part, and raises `BrokenLaw` with the law, the row that breaks it
and the usual reason. A check takes seconds; it belongs into the tests of the module that has the part.

| check | the part |
|---|---|
| `check_system` | a whole system, whatever it is made of: all the laws of runs |
| `check_protocol` | a protocol, in a small system; what it reports of weights is what it has used |
| `check_link` | a link, each way: whole and cut, alone and beside others; what is known beforehand |
| `check_arrivals` | packets of the public: in order, as often as said; in a queued link, the laws of a link |
| `check_local_training` | a training rule: no update depends on which clients are trained beside its own |
| `check_network` | a network: its own samples and weights are all it depends on; trains as by torch alone |
| `check_task` | a task: its loss is a mean, its sums add up over slices of a data set |
| `check_selection` | a rule that chooses clients |
| `check_presence` | when clients are present: windows in order, each client's own |
| `check_codec` | a codec: bits above 0, more for more values; no more arrives than they can say |
| `check_model_codec` | likewise of models on their way down |
| `check_data` | a data set: which client holds what, the same in every run; arrays are read-only |

Laws of runs (`check_system`):

- *round trip*: the system comes back from its JSON form, and from a pickle, with the same types and values;
- *names*: no public name of a class is one letter from one of its port that the class leaves as it is;
- *time*: no activity ends before it starts, no two of one node overlap, rounds follow each other;
- *energy*: none is negative or infinite, none is spent while waiting, the power is one of the device's, and
  the run's is the sum of its spans;
- *bits*: no client sends more than the payload, and what has arrived was sent whole, within its edge round;
- *drops*: as many updates arrive as uploads do, from participants; what has arrived is left out only where
  another of lower name came at the same instant;
- *jobs*: client and number name one job, done if its upload has arrived, and its activities lie within it;
- *updates*: what an asynchronous server applies has arrived, and is applied once, as stale as versions say,
  with the weight that the table has;
- *clients*: each one's sums are its spans, transfers and jobs, added up;
- *cells*: each trains, with one seed or another, in as many versions as there are cells;
- *weights*: what is learned is finite;
- *both clocks*: systems that can run on arrays have the same tables there, bit for bit, as by events;
- *determinism*: the same seed gives the same tables and weights, with any number of workers, and with
  simultaneous events in any order;
- *timing only*: without learning, spans, transfers, plans, rounds and updates are the same;
- *resume*: a run that is interrupted, at its beginning or halfway, and resumed ends as an uninterrupted one;
- *asked*: what a class overrides of its port is asked;
- *second process*: another process, with other hashes of texts and on another day, makes the same tables;
- *seeds*: an own generator does not make the same draws for every seed.

A part that is checked without a system of yours runs in a small one, with a downlink and with deadlines that
cut some of its jobs and most of them.

Usage::

    from cosim.testing import check_protocol
    from mine import MyProtocol

    def test_my_protocol_keeps_the_laws():
        check_protocol(MyProtocol())

Scope and limitations: the laws say what no part may do; whether a part does what its author means is for a
test with arithmetic in it (docs/parts.md lists what no contract can know). Learning runs on small synthetic
classes.
"""

from cosim.testing.laws.broken import BrokenLaw
from cosim.testing.networks import check_network
from cosim.testing.parts import (
    check_arrivals,
    check_codec,
    check_data,
    check_link,
    check_local_training,
    check_model_codec,
    check_presence,
    check_protocol,
    check_selection,
    check_task,
)
from cosim.testing.runs import check_system
from cosim.testing.systems import small_system

__all__ = [
    "BrokenLaw",
    "check_arrivals",
    "check_codec",
    "check_data",
    "check_link",
    "check_local_training",
    "check_model_codec",
    "check_network",
    "check_presence",
    "check_protocol",
    "check_selection",
    "check_system",
    "check_task",
    "small_system",
]
