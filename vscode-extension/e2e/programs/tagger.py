"""Tags the words of sentences of different lengths, and keeps the GPU waiting in some ways."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORDS, TAGS, WIDTH = 30_000, 40, 512


class Sentences(Dataset):
    """Made-up sentences: their words, their tags and how many there are."""

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        length = 20 + index % 44
        words = torch.zeros(64, dtype=torch.long)
        words[:length] = (torch.arange(length) * 31 + index) % WORDS
        return words, words % TAGS, length


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(64, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 4)
        self.tags = nn.Linear(WIDTH, TAGS)

    def forward(self, words, lengths):
        longest = lengths.max().item()
        words = words[:, :longest]
        places = torch.arange(longest).to(words.device)
        return self.tags(self.encoder(self.words(words) + self.places(places)))


def train(model, loader, optimizer, device):
    correct = 0
    for words, tags, lengths in loader:
        words, tags = words.to(device, non_blocking=True), tags.to(device, non_blocking=True)
        scores = model(words, lengths)
        tags = tags[:, : scores.shape[1]]
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tags.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        for sentence in range(len(words)):
            correct += (scores[sentence].argmax(-1) == tags[sentence]).sum().item()
        print(loss.item())
    return correct


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Tagger().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=torch.cuda.is_available())
    loader = DataLoader(
        Sentences(), batch_size=64, num_workers=4, pin_memory=True, persistent_workers=True
    )
    train(model, loader, optimizer, device)


if __name__ == "__main__":
    main()
