"""Text classification with transformers' Trainer and its defaults (BERT base, random weights, no network)."""
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

small = not torch.cuda.is_available()
config = BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64) if small else BertConfig()


class Reviews(torch.utils.data.Dataset):
    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        random = torch.Generator().manual_seed(index)
        ids = torch.randint(1000, 30000, (128,), generator=random)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": index % 2}


arguments = TrainingArguments(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=2 if small else 32, num_train_epochs=1,
                              logging_steps=20, save_strategy="no", report_to=[])
Trainer(model=BertForSequenceClassification(config), args=arguments, train_dataset=Reviews()).train()
