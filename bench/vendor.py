#!/usr/bin/env python3
# The engine's figures beside what the vendor's own library reaches on the same card, in one run, taking
# turns; the median of TURNS each. Prints JSON lines as it goes, then a table; bench/run.sh calls it. Python,
# because PyTorch is the door to cuBLAS. Not here: what a verifier measures (that is a probe). Needs one
# NVIDIA GPU, PyTorch with CUDA, and the engine's bench program.
#   vendor.py <bench program> <result.json>     environment: TURNS (5), REST (0.2), WARM (0), FIGURES (all),
#     COMMIT
import json, os, statistics, subprocess, sys, time
import torch

TURNS = int(os.environ.get("TURNS", "5"))
# Seconds of rest before each product, on both sides: the card then meets neither with the heat of what ran
# before.
REST = float(os.environ.get("REST", "0.2"))
# Seconds of the same product before it is timed, on both sides: a warm card at its power limit, in the state
# that this product brings it to.
WARM = float(os.environ.get("WARM", "0"))
# "products": these and the copy alone.
FIGURES = os.environ.get("FIGURES", "all")
SIZES = (8192, 16384)
# Data-sheet scalar peaks, in 10^12 fused steps a second (an fma is two flop): cards not named here get no
# ratio for `fma`.
FMA_PEAKS = {"NVIDIA H200": {"fp32": 66.9 / 2, "fp64": 33.5 / 2}, "NVIDIA H100 80GB HBM3": {"fp32": 66.9 / 2, "fp64": 33.5 / 2}}
# What is to be reached of a ratio, or of the figure itself where there is no ceiling.
REACH = {("gemm_kernel", "fp16"): 0.95, ("gemm_kernel", "bf16"): 0.95, "gemm_kernel": 0.90, "gemm_round": 0.85, "stream_pass": 0.80,
         "fma_kernel": 0.85}


def say(**row):
    print(json.dumps(row), flush=True)


def seconds(act):
    """Seconds a call by CUDA events: a rest, calls to warm up, then about a quarter of a second, as the engine's bench does."""
    torch.cuda.synchronize()
    time.sleep(REST)
    def timed(calls):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            act()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3 / calls
    timed(1)
    call = timed(1)
    if WARM:
        call = timed(max(1, min(1000, int(WARM / call))))
    return timed(max(1, min(1000, int(0.25 / call))))


def products(precision, n):
    """The vendor's product of two n x n matrices with our entries, by mode."""
    def drawn(low, high, kind):
        return torch.randint(low, high + 1, (n, n), dtype=torch.int16, device="cuda").to(kind)
    if precision == "int8":
        a, b = drawn(-128, 127, torch.int8), drawn(-128, 127, torch.int8)
        return {"": lambda: torch._int_mm(a, b.t())}
    if precision == "fp8":
        a, b = (drawn(-8, 8, torch.float16).to(torch.float8_e4m3fn) for _ in range(2))
        one = torch.ones((), device="cuda")
        def scaled(fast):
            return lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)
        return {"": scaled(False), "fast accumulate": scaled(True)}
    kind = {"fp16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32}[precision]
    torch.backends.cuda.matmul.allow_tf32 = True
    a, b = drawn(-181, 181, kind), drawn(-181, 181, kind)
    return {"": lambda: a @ b.t()}


def engine(program, *figures):
    out = subprocess.run([program, *figures], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


VALUES = ("tops", "gbytes_per_s", "tera_steps_per_s", "ns_per_hop", "gbytes", "leaves", "groups")


def main():
    program, result = sys.argv[1:3]
    card = torch.cuda.get_device_name()
    ours, theirs, modes, start_ms, driver = {}, {}, {}, [], ""

    def keep(rows):
        nonlocal driver
        for row in rows:
            if row["figure"] == "start":
                start_ms.append(row["ms"])
                driver = row["driver"]
            value = next((name for name in VALUES if name in row), None)
            if value:
                ours.setdefault((row["figure"], row["precision"], row["n"], value), []).append(row[value])
                say(side="engine", **row)

    for precision in ("int8", "fp8", "fp16", "bf16", "tf32"):
        for _ in range(TURNS):
            keep(engine(program, precision))
            for n in SIZES:
                for mode, act in products(precision, n).items():
                    tops = 2 * n**3 / seconds(act) / 1e12
                    theirs.setdefault((precision, n, mode), []).append(tops)
                    say(side="vendor", figure="gemm_kernel", precision=precision, n=n, mode=mode, tops=round(tops, 1))
                torch.cuda.empty_cache()
    copies = []
    for _ in range(TURNS):
        if FIGURES == "all":
            keep(engine(program, "hash", "fp32", "fp64", "int32"))
        source = torch.randint(0, 2**31, (1 << 30,), dtype=torch.int32, device="cuda")
        target = torch.empty_like(source)
        copies.append(2 * source.nbytes / seconds(lambda: target.copy_(source)) / 1e9)
        say(side="vendor", figure="copy", gbytes_per_s=round(copies[-1], 1))
        del source, target
        torch.cuda.empty_cache()
    if FIGURES == "all":
        keep(engine(program, "stream"))

    for (precision, n, mode), values in theirs.items():
        best = modes.get((precision, n))
        if best is None or statistics.median(values) > best[1]:
            modes[precision, n] = (mode, statistics.median(values))
    median = {key: statistics.median(values) for key, values in ours.items()}
    rows = []
    for (figure, precision, n, unit), value in median.items():
        ceiling, name = None, ""
        if figure == "gemm_kernel":
            mode, ceiling = modes[precision, n]
            name = "cuBLAS" + (f", {mode}" if mode else "")
        elif figure == "gemm_round":
            ceiling, name = median["gemm_kernel", precision, n, unit], "bare kernel"
        elif figure == "stream_pass":
            ceiling, name = statistics.median(copies), "device copy, read + written"
        elif figure.startswith("fma_") and precision in FMA_PEAKS.get(card, {}):
            ceiling, name = FMA_PEAKS[card][precision], "data sheet"
        rows.append({"figure": figure, "precision": precision, "n": n, "value": round(value, 2), "unit": unit, "turns": len(ours[figure, precision, n, unit]),
                     "ceiling": ceiling and round(ceiling, 2), "ceilingOf": name, "ratio": ceiling and round(value / ceiling, 3),
                     "reach": REACH.get((figure, precision), REACH.get(figure))})
    vendor = [{"precision": p, "n": n, "mode": mode, "tops": round(statistics.median(v), 1)} for (p, n, mode), v in theirs.items()]
    with open(result, "w") as file:
        json.dump({"machine": card, "driver": driver, "torch": torch.__version__, "commit": os.environ.get("COMMIT", "unknown"),
                   "date": time.strftime("%Y-%m-%d", time.gmtime()), "restS": REST, "warmS": WARM, "startMs": statistics.median(start_ms),
                   "copyGbytesPerS": round(statistics.median(copies), 1), "figures": rows, "vendor": vendor}, file, indent=1)
        file.write("\n")
    print(f"\n{card}, driver {driver}; median of {TURNS} turns")
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3f} of {row['ceiling']:.1f} ({row['ceilingOf']})"
        short = " SHORT" if row["reach"] and row["ratio"] and row["ratio"] < row["reach"] else ""
        print(f"{row['figure']:16} {row['precision']:6} {row['n']:>8} {row['value']:>10.2f} {row['unit']:17} {ratio}{short}")


main()
