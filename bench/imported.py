#!/usr/bin/env python3
# A float model from PyTorch and what this project makes of it. Trains a small Llama-like model on bytes of a
# text, has transformers and the safetensors package write it, and compares logits that `assay job run` gives
# with PyTorch's in float32. Python, because those are its packages.
#   imported.py train FOLDER TEXT    FOLDER/model, FOLDER/heldout.txt, jobs logits-i16.json and
#                                    logits-i8.json, float.npy
#   imported.py shapes FOLDER        generated models of the whole shapes of GPT-2 124M, SmolLM-135M and
#                                    Qwen2-0.5B, with job files that generate
#   imported.py judge FOLDER         logits of both jobs' runs beside PyTorch's, one JSON line each; and
#                                    FOLDER/rounded, which `assay model import FOLDER/model --out
#                                    FOLDER/rounded --weights i8` wrote, as PyTorch reads it
import json, math, sys, time
import numpy, torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, LlamaForCausalLM, Qwen2Config

what, folder = sys.argv[1:3]
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False
CONTEXT, SEQUENCES = 128, 128
STEPS, BATCH = (1500, 64) if device == "cuda" else (30, 4)


def logits_of(model, rows):
    with torch.inference_mode():
        return torch.cat([model(part).logits.float() for part in rows.split(32)])


def figures(logits, rows, reference):
    """Perplexity of what follows, the share of places with the reference's most likely token, and the mean divergence from it."""
    lines, wanted = logits[:, :-1].double().log_softmax(-1), reference[:, :-1].double().log_softmax(-1)
    loss = F.nll_loss(lines.reshape(-1, lines.shape[-1]), rows[:, 1:].reshape(-1)).item()
    kl = (wanted.exp() * (wanted - lines)).sum(-1).mean().item()
    return {"perplexity": math.exp(loss), "top1": (logits.argmax(-1) == reference.argmax(-1)).double().mean().item(), "kl": kl}


def train(text):
    torch.manual_seed(1)
    data = torch.tensor(list(open(text, "rb").read()), device=device)
    held = data[len(data) * 9 // 10 :][: CONTEXT * SEQUENCES]
    data = data[: len(data) * 9 // 10]
    config = LlamaConfig(vocab_size=256, hidden_size=256, intermediate_size=704, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4,
                         max_position_embeddings=CONTEXT, tie_word_embeddings=False, bos_token_id=None, eos_token_id=None)
    model = LlamaForCausalLM(config).to(device)
    by = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.1)
    rate = torch.optim.lr_scheduler.OneCycleLR(by, 1e-3, STEPS)
    start = time.time()
    for step in range(STEPS):
        at = torch.randint(0, len(data) - CONTEXT - 1, (BATCH, 1), device=device) + torch.arange(CONTEXT + 1, device=device)
        rows = data[at]
        with torch.autocast(device, torch.bfloat16):
            logits = model(rows[:, :-1]).logits
        loss = F.cross_entropy(logits.float().reshape(-1, 256), rows[:, 1:].reshape(-1))
        by.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        by.step()
        rate.step()
    model.eval().save_pretrained(f"{folder}/model")
    rows = held[: len(held) // CONTEXT * CONTEXT].view(-1, CONTEXT)
    logits = logits_of(model, rows)
    numpy.save(f"{folder}/float.npy", logits.cpu().numpy())
    numpy.save(f"{folder}/tokens.npy", rows.cpu().numpy().astype("<i4"))
    for weights in ("i16", "i8"):
        job = {"workload": "infer", "model": "model/", "prompts": {"tokens": "tokens.npy"}, "output": "logits", "weights": weights, "batch": 32,
               "seed": "0x" + "01".rjust(64, "0")}
        json.dump(job, open(f"{folder}/logits-{weights}.json", "w"))
    count = sum(p.numel() for p in model.parameters())
    print(json.dumps({"what": "trained", "weights": count, "steps": STEPS, "seconds": time.time() - start, "loss": loss.item(), **figures(logits, rows, logits)}))


def judge():
    reference = torch.tensor(numpy.load(f"{folder}/float.npy"), device=device)
    rows = torch.tensor(numpy.load(f"{folder}/tokens.npy").astype("int64"), device=device)
    whole = figures(reference, rows, reference)
    for weights in ("i16", "i8"):
        found = torch.tensor(numpy.load(f"{folder}/logits-{weights}.run/logits.npy").astype("float64"), device=device)
        own = figures(found, rows, reference)
        print(json.dumps({"what": "imported", "weights": weights, "more": own["perplexity"] / whole["perplexity"] - 1, "float": whole["perplexity"], **own}))
    rounded = LlamaForCausalLM.from_pretrained(f"{folder}/rounded", dtype=torch.float32).to(device).eval()
    print(json.dumps({"what": "our file in PyTorch", **figures(logits_of(rounded, rows), rows, reference)}))


def shapes():
    torch.manual_seed(2)
    known = {
        "gpt2-124m": GPT2Config(),
        "smollm-135m": LlamaConfig(vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9,
                                   num_key_value_heads=3, max_position_embeddings=2048, tie_word_embeddings=True),
        "qwen2-0.5b": Qwen2Config(vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
                                  num_key_value_heads=2, max_position_embeddings=32768, tie_word_embeddings=True),
    }
    for name, config in known.items():
        model = AutoModelForCausalLM.from_config(config)
        model.to(torch.bfloat16).save_pretrained(f"{folder}/{name}")
        prompts = torch.randint(0, config.vocab_size, (32, 32)).numpy().astype("<i4")
        numpy.save(f"{folder}/{name}.npy", prompts)
        job = {"workload": "infer", "model": f"{name}/", "prompts": {"tokens": f"{name}.npy"}, "output": "text", "new": 32, "batch": 32,
               "seed": "0x" + "01".rjust(64, "0")}
        json.dump(job, open(f"{folder}/{name}.json", "w"))
        print(json.dumps({"what": "generated", "shape": name, "weights": sum(p.numel() for p in model.parameters())}))


{"train": lambda: train(sys.argv[3]), "judge": judge, "shapes": shapes}[what]()
