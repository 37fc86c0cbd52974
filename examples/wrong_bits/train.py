"""A job of 20 layers to practise on: docs/debugging.md plants a wrong recipe in it and finds it with `stowage bisect`."""

import torch

LAYERS, WIDTH, STEPS = 20, 128, 10


class Layer(torch.nn.Module):
    def __init__(self, number: int):
        super().__init__()
        self.linear, self.odd = torch.nn.Linear(WIDTH, WIDTH), number == 13

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        if self.odd:
            return torch.nn.functional.softplus(x, beta=2.0)  # one layer of 20
        return torch.nn.functional.gelu(x)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*(Layer(number) for number in range(1, LAYERS + 1)))
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = model(torch.randn(64, WIDTH)).square().mean()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
