"""The networks that chapters train, a module a chapter; the loop that trains them stands here."""

import numpy as np
import torch
from torch import nn


def fit(model, batches, loss, rate, clip):
    """Adam with a warm-up and a decay; returns the loss of every step.

    ``loss(*batch)`` is asked for each of the ``batches``; ``rate`` is the highest learning rate,
    ``clip`` the largest norm of a gradient.
    """
    optimiser = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=len(batches))
    losses = []
    for batch in batches:
        found = loss(*batch)
        optimiser.zero_grad()
        found.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        schedule.step()
        losses.append(found.item())
    return np.array(losses)
