"""A training loop with one finding of the team's own rule."""

import telemetry
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(512, 512).to(device)
optimizer = torch.optim.AdamW(model.parameters())

for step in range(1000):
    x = torch.randn(64, 512, device=device)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    telemetry.push(step=step, loss=loss)
