"""Kept momentum: a local training rule with a state."""

import cosim
from cosim.configuration import knob, not_negative, part


@part
class KeptMomentum(cosim.training.LocalTraining):
    """SGD whose momentum a client keeps until it trains again.

    Attributes:
        momentum: Share of a step that goes on into the next. [no source]
    """

    keeps_state = True

    momentum: float = knob(not_negative, default=0.5)

    def train(self, client):
        """All steps; the velocity is kept."""
        import torch

        parameters = dict(client.network.named_parameters())
        velocity = {name: client.state.get(name, torch.zeros_like(p)) for name, p in parameters.items()}
        for x, y in client.batches(client.num_steps, self.batch_size):
            loss = client.loss(client.network(x), y)
            gradients = torch.autograd.grad(loss, list(parameters.values()))
            with torch.no_grad():
                for (name, values), gradient in zip(parameters.items(), gradients, strict=True):
                    velocity[name] = self.momentum * velocity[name] + gradient
                    values -= self.learning_rate * velocity[name]
        return velocity
