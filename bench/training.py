#!/usr/bin/env python3
# The float32 twin of an exact training run, of a GPT, a CNN or adapters (LoRA) of a model that transformers
# reads: same first weights, same batches, AdamW in PyTorch without TF32; the loss of each step.
# bench/training.ts writes the folder and calls it. Not here: the comparison.
#   training.py FOLDER        reads job.json, the weights (safetensors), tokens.bin or images.bin and
#                             labels.bin, samples.bin; writes float.json
# Environment: BATCHES (batches of a step are cut into so many parts that fit the memory: 1), SPREAD (any:
# once more with first weights that are off by 1 part in 10,000, to see what noise alone does).
import json, math, os, struct, sys, time
import numpy, torch
import torch.nn.functional as F

folder = sys.argv[1]
parts = int(os.environ.get("BATCHES", "1"))
job = json.load(open(f"{folder}/job.json"))
model, by, batch, steps = job["model"], job["optimizer"], job["batch"], job["steps"]
is_lora, is_cnn = model["kind"] == "lora", model["kind"] == "cnn"
context = 1 if is_cnn else model["context"]
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False



def read(path):
    """Tensors of a safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        begin, end = entry["data_offsets"]
        array = numpy.frombuffer(data[8 + length + begin : 8 + length + end], "<f4").reshape(entry["shape"])
        tensors[name] = torch.tensor(array, device=device)
    return tensors


def whole(name, kind):
    return torch.from_numpy(numpy.fromfile(f"{folder}/{name}", kind).astype(numpy.int64)).to(device)


w, first = {}, read(f"{folder}/{job['weights']}")
if is_cnn:
    labels = whole("labels.bin", "<i4")
    images = whole("images.bin", "i1").float().div(128).view(len(labels), *model["input"])
else:
    tokens = whole("tokens.bin", "<i4")
samples = torch.from_numpy(numpy.fromfile(f"{folder}/samples.bin", "<i4").reshape(steps, batch).astype(numpy.int64)).to(device)
place = torch.arange(context, device=device)


def gpt(x):
    """Logits of a GPT."""
    width, heads, layers = model["width"], model["heads"], model["layers"]
    h = w["wte.weight"][x] + w["wpe.weight"][place]
    norm = lambda t, name: F.layer_norm(t, (width,), w[name + ".weight"], w[name + ".bias"], 1e-5)
    for i in range(layers):
        of = lambda name: w[f"h.{i}.{name}"]
        linear = lambda t, name: F.linear(t, of(name + ".weight"), of(name + ".bias"))
        qkv = linear(norm(h, f"h.{i}.ln_1"), "attn.c_attn")
        q, k, v = (t.view(len(x), context, heads, width // heads).transpose(1, 2) for t in qkv.split(width, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + linear(mixed.transpose(1, 2).reshape(len(x), context, width), "attn.c_proj")
        h = h + linear(F.gelu(linear(norm(h, f"h.{i}.ln_2"), "mlp.c_fc")), "mlp.c_proj")
    return F.linear(norm(h, "ln_f"), w["wte.weight"])


def with_adapters(path):
    """Logits of the model in this folder, whose weights stand still, with the adapters beside its layers."""
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).to(device).eval()
    scale = model["alpha"] / model["rank"]
    for parameter in base.parameters():
        parameter.requires_grad_(False)
    for name, module in base.named_modules():
        a, b = (f"base_model.model.{name}.lora_{part}.weight" for part in "AB")
        if a in first:
            add = lambda _, x, y, a=a, b=b: y + scale * F.linear(F.linear(x[0], w[a]), w[b])
            module.register_forward_hook(add)
    return lambda x: base(x).logits


def cnn(x):
    """Logits of a CNN, by the layers of its job."""
    for i, layer in enumerate(model["layers"]):
        weight, bias = w.get(f"layer{i}.weight"), w.get(f"layer{i}.bias")
        size, stride = layer.get("size"), layer.get("stride")
        if "conv" in layer:
            x = F.relu(F.conv2d(x, weight, bias, stride or 1, layer.get("pad", ((size or 1) - 1) // 2)))
        elif "dense" in layer:
            x = F.linear(x.flatten(1), weight, bias)
            x = x if i == len(model["layers"]) - 1 else F.relu(x)
        elif layer["pool"] == "global":
            x = x.mean((2, 3), keepdim=True)
        else:
            pool = F.max_pool2d if layer["pool"] == "max" else F.avg_pool2d
            x = pool(x, size, stride or size)
    return x


logits_of = with_adapters(job["base"]) if is_lora else cnn if is_cnn else gpt


def loss_of(rows):
    """Summed over all tokens of these windows, or over these pictures."""
    if is_cnn:
        return F.cross_entropy(logits_of(images[rows]), labels[rows], reduction="sum")
    at = rows[:, None] * context + place
    x, y = tokens[at], tokens[at + 1]
    logits = logits_of(x)
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), y.reshape(-1), reduction="sum")


def rate_at(t):
    if t < by["warmup"]:
        return by["rate"] * (t + 1) / by["warmup"]
    if by["floor"] == 1:
        return by["rate"]
    done = (t - by["warmup"]) / max(1, steps - 1 - by["warmup"])
    return by["rate"] * (by["floor"] + (1 - by["floor"]) * 0.5 * (1 + math.cos(math.pi * done)))


def train(noise):
    """Losses of all steps, and seconds. `noise`: by which part of itself each first weight is off, at random."""
    torch.manual_seed(1)
    for name, value in first.items():
        w[name] = torch.nn.Parameter(value * (1 + noise * torch.randn_like(value)))
    groups = [
        {"params": [p for p in w.values() if p.dim() > 1], "weight_decay": by["decay"]},
        {"params": [p for p in w.values() if p.dim() == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=by["rate"], betas=(by["beta1"], by["beta2"]), eps=1e-8)
    losses, start = [], time.time()
    for t in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(t)
        optimizer.zero_grad(set_to_none=True)
        total = 0
        for rows in samples[t].chunk(parts):
            loss = loss_of(rows) / (batch * context)
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        losses.append(total)
    return [float(loss) for loss in losses], time.time() - start


losses, took = train(0)
machine = torch.cuda.get_device_name() if device == "cuda" else "cpu"
result = {"machine": machine, "torch": torch.__version__, "losses": losses, "msPerStep": 1e3 * took / steps}
if is_cnn:

    def right(weights):
        """Share of the pictures that no run saw."""
        w.update(weights)
        unseen = slice(len(labels) // 2, None)
        with torch.no_grad():
            return float((logits_of(images[unseen]).argmax(1) == labels[unseen]).float().mean())

    result["accuracy"] = {"float": right(dict(w)), "ours": right(read(f"{folder}/trained.safetensors"))}
if os.environ.get("SPREAD"):
    result["noisy"] = train(1e-4)[0]
json.dump(result, open(f"{folder}/float.json", "w"))
print(f"float32: {1e3 * took / steps:.1f} ms a step, loss {losses[0]:.4f} -> {sum(losses[-20:]) / len(losses[-20:]):.4f}", file=sys.stderr)
