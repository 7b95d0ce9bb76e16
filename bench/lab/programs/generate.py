"""Answers of a GPT-2, token by token, with transformers' generate()."""
import torch
from transformers import GPT2Config, GPT2LMHeadModel

device = "cuda" if torch.cuda.is_available() else "cpu"
config = GPT2Config() if device == "cuda" else GPT2Config(n_layer=2, n_embd=32, n_head=2)
torch.manual_seed(0)
model = GPT2LMHeadModel(config).to(device).eval()
prompt = torch.randint(0, config.vocab_size, (1, 64)).to(device)
while True:
    with torch.no_grad():
        answer = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=64, do_sample=False, pad_token_id=0)
    print(answer[0, -8:].tolist(), flush=True)
