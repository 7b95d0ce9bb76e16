"""Fine-tuning GPT-2 with transformers in a loop of one's own, the loss read in every step."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

device = "cuda" if torch.cuda.is_available() else "cpu"
config, batch, length = (GPT2Config(), 8, 512) if device == "cuda" else (GPT2Config(n_layer=2, n_embd=32, n_head=2), 2, 32)
torch.manual_seed(0)
model = GPT2LMHeadModel(config).to(device)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
step = 0
while True:
    ids = torch.randint(0, config.vocab_size, (batch, length)).to(device)
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    step += 1
    print(f"step {step} loss {loss.item():.4f}", flush=True)
