#!/usr/bin/env python3
# Generation and embeddings by PyTorch: bf16, a static key-value cache, one CUDA graph a token; what our
# programs of the same shapes are measured against, in one run on one card. Python, because PyTorch is the
# door to cuBLAS and cuDNN. Without a GPU (--cpu) it only shows that it runs.
#   vendor_inference.py [--cpu] [SHAPE…]     prints a JSON line for each shape, or for these: gpt2-124m,
#                                            smollm-135m, qwen2-0.5b, bert-base
import json
import sys
import time
import torch
import torch.nn.functional as F
from torch import nn

ON_CPU = "--cpu" in sys.argv
DEVICE = "cpu" if ON_CPU else "cuda"
TYPE = torch.float32 if ON_CPU else torch.bfloat16
BATCH, PROMPT, FRESH = (2, 4, 8) if ON_CPU else (32, 32, 256)
# layers, width, heads, heads of keys, hidden, vocabulary, glu
SHAPES = {
    "gpt2-124m": (12, 768, 12, 12, 3072, 50257, False),
    "smollm-135m": (30, 576, 9, 3, 1536, 49152, True),
    "qwen2-0.5b": (24, 896, 14, 2, 4864, 151936, True),
}
BERT = (12, 768, 12, 12, 3072, 30522, False)
if ON_CPU:
    SHAPES = {"tiny-gpt2": (2, 32, 4, 4, 64, 300, False), "tiny-llama": (2, 32, 4, 2, 64, 300, True)}
    BERT = (2, 32, 4, 4, 64, 300, False)


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden, glu):
        super().__init__()
        self.heads, self.kv_heads, self.size, self.glu = heads, kv_heads, width // heads, glu
        norm = nn.RMSNorm if glu else nn.LayerNorm
        self.norm1, self.norm2 = norm(width), norm(width)
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * self.size, bias=not glu)
        self.out = nn.Linear(width, width, bias=not glu)
        self.up = nn.Linear(width, 2 * hidden if glu else hidden, bias=not glu)
        self.down = nn.Linear(hidden, width, bias=not glu)

    def forward(self, x, turn, cache, place, mask, causal):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).split([n * self.size for n in (self.heads, self.kv_heads, self.kv_heads)], -1)
        q, k, v = (one.view(b, t, -1, self.size).transpose(1, 2) for one in (q, k, v))
        if self.glu:
            q, k = turned(q, turn), turned(k, turn)
        if cache is not None:
            keys, values = cache
            keys.index_copy_(2, place, k)
            values.index_copy_(2, place, v)
            k, v = keys, values
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=self.heads != self.kv_heads)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, -1))
        h = self.up(self.norm2(x))
        if self.glu:
            gate, up = h.chunk(2, -1)
            return x + self.down(F.silu(gate) * up)
        return x + self.down(F.gelu(h, approximate="tanh"))


def turned(x, turn):
    a, b = x.chunk(2, -1)
    cos, sin = turn
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Model(nn.Module):
    def __init__(self, shape, context):
        super().__init__()
        layers, width, heads, kv_heads, hidden, vocabulary, glu = shape
        self.size, self.kv_heads, self.glu = width // heads, kv_heads, glu
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, kv_heads, hidden, glu) for _ in range(layers))
        self.norm = (nn.RMSNorm if glu else nn.LayerNorm)(width)
        angles = torch.outer(torch.arange(context), 10000 ** (-torch.arange(0, self.size, 2) / self.size))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, tokens, places, cache=None, mask=None, causal=False):
        x = self.token(tokens)
        if not self.glu:
            x = x + self.place(places)
        turn = (self.cos[places], self.sin[places])
        for i, block in enumerate(self.blocks):
            x = block(x, turn, None if cache is None else cache[i], places, mask, causal)
        return self.norm(x)

    def logits(self, hidden):
        return F.linear(hidden, self.token.weight)


def median_s(run, tries=5):
    times = []
    for _ in range(tries):
        if not ON_CPU:
            torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        if not ON_CPU:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]


def graphed(step):
    if ON_CPU:
        return step
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


@torch.inference_mode()
def generation(shape):
    places = PROMPT + FRESH
    model = Model(shape, places).to(DEVICE, TYPE).eval()
    make = lambda: torch.zeros(BATCH, model.kv_heads, places, model.size, device=DEVICE, dtype=TYPE)
    cache = [(make(), make()) for _ in model.blocks]
    token = torch.zeros(BATCH, 1, device=DEVICE, dtype=torch.long)
    place = torch.zeros(1, device=DEVICE, dtype=torch.long)
    mask = torch.zeros(1, 1, 1, places, device=DEVICE, dtype=torch.bool)
    after = torch.arange(places, device=DEVICE)
    body = model.forward if ON_CPU else torch.compile(model.forward)

    def one():
        mask.copy_((after <= place)[None, None, None])
        hidden = body(token, place, cache, mask)
        token.copy_(model.logits(hidden[:, -1]).argmax(-1, keepdim=True))
        place.add_(1)

    play = graphed(one)

    def whole():
        place.zero_()
        for _ in range(places - 1):
            play()

    whole()
    seconds = median_s(whole)
    tokens = torch.randint(0, shape[5], (BATCH, places - 1), device=DEVICE)
    spots = torch.arange(places - 1, device=DEVICE)
    prefill = median_s(lambda: model.logits(body(tokens, spots, None, None, True)).argmax(-1))
    return {"seconds": seconds, "tokensPerS": BATCH * FRESH / seconds, "prefillSeconds": prefill}


@torch.inference_mode()
def embeddings(shape, length=128):
    model = Model(shape, length).to(DEVICE, TYPE).eval()
    body = model.forward if ON_CPU else torch.compile(model.forward)
    tokens = torch.randint(0, shape[5], (BATCH, length), device=DEVICE)
    spots = torch.arange(length, device=DEVICE)
    out = torch.zeros(BATCH, shape[1], device=DEVICE, dtype=TYPE)
    play = graphed(lambda: out.copy_(body(tokens, spots).mean(1)))
    seconds = median_s(play, 20)
    return {"seconds": seconds, "tokensPerS": BATCH * length / seconds}


ASKED = [word for word in sys.argv[1:] if not word.startswith("--")]
for name, shape in SHAPES.items():
    if ASKED and name not in ASKED:
        continue
    torch.manual_seed(1)
    print(json.dumps({"what": "generation", "shape": name, "batch": BATCH, "prompt": PROMPT, "fresh": FRESH, **generation(shape)}), flush=True)
if not ASKED or "bert-base" in ASKED:
    print(json.dumps({"what": "embeddings", "shape": "bert-base", "batch": BATCH, "length": 128, **embeddings(BERT)}), flush=True)
