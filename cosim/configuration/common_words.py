"""Common words: what the field and other programs call what has another name here.

`did_you_mean` looks words up here before it looks for names that are spelt alike.
"""

NAMES = {
    "aggregation": ("server",),
    "aggregator": ("server",),
    "architecture": ("model",),
    "batch": ("batch_size",),
    "batchsize": ("batch_size",),
    "bs": ("batch_size",),
    "bw": ("bandwidth_hz",),
    "channel": ("uplink",),
    "client_fraction": ("selection",),
    "compression": ("codec",),
    "dataset": ("data",),
    "deadline": ("deadline_s", "waiting"),
    "eta": ("learning_rate",),
    "epochs": ("num_epochs",),
    "fedavg": ("HFedAvg",),
    "fedprox": ("Proximal",),
    "local_epochs": ("num_epochs",),
    "local_steps": ("num_local_steps",),
    "lr": ("learning_rate",),
    "net": ("model",),
    "network": ("model",),
    "num_rounds": ("num_global_rounds",),
    "num_users": ("num_clients",),
    "optimiser": ("local",),
    "optimizer": ("local",),
    "partition": ("split",),
    "quantization": ("codec",),
    "rounds": ("num_global_rounds",),
    "sampler": ("selection",),
    "scheduler": ("selection",),
    "sgd": ("Sgd",),
    "step_size": ("learning_rate",),
    "timeout": ("deadline_s", "waiting"),
    "users": ("num_clients",),
    "wd": ("weight_decay",),
}
"""Word -> what it may be here, the nearest first."""

NOTES = {
    "epochs": "Epochs(num_epochs=...), of which the steps of EdgeTraining may be",
    "fedavg": "HFedAvg in one cell (num_cells = 1)",
    "fedopt": "FedAdam, FedYogi or FedAdagrad, as the server of EdgeTraining",
    "fedprox": "Proximal, as the local training of EdgeTraining",
    "fedsgd": "HFedAvg in one cell (num_cells = 1), with SameSteps(num_local_steps=1)",
    "local_epochs": "Epochs(num_epochs=...), of which the steps of EdgeTraining may be",
}
"""Word -> what it is here, where no name says it all."""
