#!/usr/bin/env python3
# The float32 twin of the run that bench/zk/digits.ts proves: same first weights, same batches, SGD on half
# the squared error in PyTorch without TF32; and how many pictures that neither has seen each of both
# classifies. Reads a folder that digits.ts wrote; prints JSON.
#   digits.py FOLDER
import json, sys
import numpy, torch

folder = sys.argv[1]
job = json.load(open(f"{folder}/job.json"))
sizes, batch, shift = job["sizes"], job["batch"], job["shift"]
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.backends.cuda.matmul.allow_tf32 = False
scale = 2.0 ** (20 + shift)


def read(name, kind):
    return torch.from_numpy(numpy.fromfile(f"{folder}/{name}", kind).copy()).to(device)


def weights(name):
    """At 2^(20 + shift)."""
    flat, out, at = read(name, "<i8").double(), [], 0
    for inputs, outputs in zip(sizes, sizes[1:]):
        out.append(flat[at : at + inputs * outputs].view(outputs, inputs))
        at += inputs * outputs
    return out


def pictures(name):
    return read(f"{name}.features", "<i2").view(-1, sizes[0]).double(), read(f"{name}.labels", "u1").long()


def outputs(x, w, one, rounded):
    """Of all layers; `one`: what is added in the last column."""
    entering, given = [], []
    for i, own in enumerate(w):
        x = x.clone() if i == 0 else given[-1].clamp(min=0)
        x[:, -1] += one
        entering.append(x)
        given.append(rounded(x @ own.T))
    return entering, given


def accuracy(x, labels, w, one, rounded):
    return (outputs(x, w, one, rounded)[1][-1].argmax(1) == labels).double().mean().item()


train, labels = pictures("train")
test, test_labels = pictures("test")
at_8 = lambda x: torch.floor((x + 4) / 8)
nearest = lambda z: torch.floor((z + scale / 2) / scale)
exact = accuracy(at_8(test), test_labels, weights("last.bin"), 256.0, nearest)

as_is = lambda z: z
w = [(one / scale).float() for one in weights("first.bin")]
order = read("order.bin", "<i4").long().view(-1, batch)
x, seen = (train / 2048).float(), (test / 2048).float()
for rows in order:
    entering, given = outputs(x[rows], w, 1.0, as_is)
    d = given[-1].clone()
    d[torch.arange(batch), labels[rows]] -= 1
    for i in reversed(range(len(w))):
        change = d.T @ entering[i]
        if i > 0:
            d = (d @ w[i]) * (given[i - 1] > 0)
        w[i] -= 2.0**-shift * change
print(json.dumps({"exact": exact, "float32": accuracy(seen, test_labels, w, 1.0, as_is), "pictures": len(test_labels)}))
