// The profile table: one line a card, from public data sheets and from what drivers report. docs/profiles.md
// is made from it. Columns: id, family, SMs, boost MHz, memory GiB, total MiB as nvidia-smi shows it (0: not
// known), 10⁹ B/s, default W. Rates follow from units × SMs × clock (profile.ts); `rates` overrides them
// where a data sheet says otherwise. Not here, on purpose: GTX 16xx (no tensor cores; what mma.sync gives
// there is unmeasured), laptop parts, MIG slices and vGPUs (their speed is the owner's setting). A name that
// is not here is an unknown card, never a contradiction.
import { FLOAT_GEMM_PRECISIONS, GEMM_PRECISIONS, PRECISIONS } from "../../../protocol/maths/precision.ts";
import { FAMILIES } from "./families.ts";
import { card, type Doubt, normalName, type Profile } from "./profile.ts";

const F = FAMILIES;
const G = "GeForce RTX ";
/** Sold to makers of whole machines alone. */
const unprintedDoubt: Doubt = {
	facts: [...PRECISIONS, "bandwidth"],
	why: "no data sheet of the maker prints it; lists of cards disagree",
};
const modified: Doubt = { facts: ["memory"], why: "not a product of the maker: larger memory chips soldered on" };
const clockDoubt: Doubt = {
	facts: PRECISIONS,
	why: "the clock is inferred from rounded rates",
};
const adaProDoubt: Doubt = {
	facts: FLOAT_GEMM_PRECISIONS,
	why: "published runs reach what an L40 reaches; the full fp32-accumulation rate may not hold at 300 W, or at all",
};

const turing: readonly Profile[] = [
	card("Tesla T4", F.turingDc, 40, 1590, 16, 15360, 320, 70, { also: ["T4"] }),
	card(`${G}2060`, F.turingGeforce, 30, 1680, 6, 6144, 336, 160),
	card(`${G}2060 12GB`, F.turingGeforce, 34, 1650, 12, 12288, 336, 185, { name: `${G}2060` }),
	card(`${G}2060 SUPER`, F.turingGeforce, 34, 1650, 8, 8192, 448, 175),
	card(`${G}2070`, F.turingGeforce, 36, 1620, 8, 8192, 448, 175),
	card(`${G}2070 SUPER`, F.turingGeforce, 40, 1770, 8, 8192, 448, 215),
	card(`${G}2080`, F.turingGeforce, 46, 1710, 8, 8192, 448, 215),
	card(`${G}2080 SUPER`, F.turingGeforce, 48, 1815, 8, 8192, 496, 250),
	card(`${G}2080 Ti`, F.turingGeforce, 68, 1545, 11, 11264, 616, 250),
	card(`${G}2080 Ti 22GB`, F.turingGeforce, 68, 1545, 22, 22528, 616, 250, { name: `${G}2080 Ti`, doubt: [modified] }),
	card("TITAN RTX", F.turingPro, 72, 1770, 24, 24576, 672, 280),
	card("Quadro RTX 4000", F.turingPro, 36, 1545, 8, 8192, 416, 160),
	card("Quadro RTX 5000", F.turingPro, 48, 1815, 16, 16384, 448, 230),
	card("Quadro RTX 6000", F.turingPro, 72, 1770, 24, 24576, 672, 260),
	card("Quadro RTX 8000", F.turingPro, 72, 1770, 48, 49152, 672, 260),
];

const ampere: readonly Profile[] = [
	card("A100-PCIE-40GB", F.ga100, 108, 1410, 40, 40960, 1555, 250),
	card("A100-SXM4-40GB", F.ga100, 108, 1410, 40, 40960, 1555, 400),
	card("A100 80GB PCIe", F.ga100, 108, 1410, 80, 81920, 1935, 300),
	card("A100-SXM4-80GB", F.ga100, 108, 1410, 80, 81920, 2039, 400),
	card("A800 80GB PCIe", F.ga100, 108, 1410, 80, 81920, 1935, 300),
	card("A800-SXM4-80GB", F.ga100, 108, 1410, 80, 81920, 2039, 400),
	card("A30", F.ga100, 56, 1440, 24, 24576, 933, 165),
	card("A2", F.ampereDc, 10, 1770, 16, 15356, 200, 60),
	card("A10", F.ampereDc, 72, 1695, 24, 23028, 600, 150),
	card("A10G", F.ampereDc, 80, 1710, 24, 23028, 600, 300, {
		rates: { int8: 140e12, fp16: 70e12, bf16: 70e12, tf32: 35e12 },
		doubt: [{ facts: GEMM_PRECISIONS, why: "the data sheet prints half of what the units give" }],
	}),
	card("A16", F.ampereDc, 10, 1755, 16, 15356, 200, 62),
	card("A40", F.ampereDc, 84, 1740, 48, 46068, 696, 300),
	card(`${G}3050`, F.ampereGeforce, 20, 1777, 8, 8192, 224, 130),
	card(`${G}3050 6GB`, F.ampereGeforce, 18, 1470, 6, 6144, 168, 70, { name: `${G}3050` }),
	card(`${G}3050 4GB`, F.ampereGeforce, 18, 1740, 4, 4096, 224, 90, { name: `${G}3050`, doubt: [unprintedDoubt] }),
	card(`${G}3060 8GB`, F.ampereGeforce, 28, 1777, 8, 8192, 240, 170, { name: `${G}3060` }),
	card(`${G}3060`, F.ampereGeforce, 28, 1777, 12, 12288, 360, 170),
	card(`${G}3060 Ti`, F.ampereGeforce, 38, 1665, 8, 8192, 448, 200, {
		doubt: [{ facts: ["bandwidth"], why: "a later edition has GDDR6X at 608 GB/s under the same name" }],
	}),
	card(`${G}3070`, F.ampereGeforce, 46, 1725, 8, 8192, 448, 220),
	card(`${G}3070 Ti`, F.ampereGeforce, 48, 1770, 8, 8192, 608, 290),
	card(`${G}3080`, F.ampereGeforce, 68, 1710, 10, 10240, 760, 320),
	card(`${G}3080 12GB`, F.ampereGeforce, 70, 1710, 12, 12288, 912, 350, { name: `${G}3080` }),
	card(`${G}3080 Ti`, F.ampereGeforce, 80, 1665, 12, 12288, 912, 350),
	card(`${G}3090`, F.ampereGeforce, 82, 1695, 24, 24576, 936, 350),
	card(`${G}3090 Ti`, F.ampereGeforce, 84, 1860, 24, 24564, 1008, 450),
	card("RTX A2000", F.amperePro, 26, 1200, 6, 6138, 288, 70),
	card("RTX A2000 12GB", F.amperePro, 26, 1200, 12, 12282, 288, 70),
	card("RTX A4000", F.amperePro, 48, 1560, 16, 16376, 448, 140),
	card("RTX A4500", F.amperePro, 56, 1650, 20, 20470, 640, 200),
	card("RTX A5000", F.amperePro, 64, 1695, 24, 24564, 768, 230),
	card("RTX A5500", F.amperePro, 80, 1665, 24, 24564, 768, 230),
	card("RTX A6000", F.amperePro, 84, 1800, 48, 49140, 768, 300),
];

const ada: readonly Profile[] = [
	card("L4", F.adaDc, 58, 2040, 24, 23034, 300, 72),
	card("L20", F.adaDcHalf, 92, 2520, 48, 46068, 864, 275),
	card("L40", F.adaDcHalf, 142, 2490, 48, 46068, 864, 300),
	card("L40S", F.adaDc, 142, 2520, 48, 46068, 864, 350),
	card(`${G}4060`, F.adaGeforce, 24, 2460, 8, 8188, 272, 115),
	card(`${G}4060 Ti 8GB`, F.adaGeforce, 34, 2535, 8, 8188, 288, 160, { name: `${G}4060 Ti` }),
	card(`${G}4060 Ti 16GB`, F.adaGeforce, 34, 2535, 16, 16380, 288, 165, { name: `${G}4060 Ti` }),
	card(`${G}4070`, F.adaGeforce, 46, 2475, 12, 12282, 504, 200),
	card(`${G}4070 SUPER`, F.adaGeforce, 56, 2475, 12, 12282, 504, 220),
	card(`${G}4070 Ti`, F.adaGeforce, 60, 2610, 12, 12282, 504, 285),
	card(`${G}4070 Ti SUPER`, F.adaGeforce, 66, 2610, 16, 16376, 672, 285),
	card(`${G}4080`, F.adaGeforce, 76, 2505, 16, 16376, 717, 320),
	card(`${G}4080 SUPER`, F.adaGeforce, 80, 2550, 16, 16376, 736, 320),
	card(`${G}4090`, F.adaGeforce, 128, 2520, 24, 24564, 1008, 450),
	card(`${G}4090 48GB`, F.adaGeforce, 128, 2520, 48, 49140, 1008, 450, { name: `${G}4090`, doubt: [modified] }),
	card(`${G}4090 D`, F.adaGeforce, 114, 2520, 24, 24564, 1008, 425),
	card("RTX 2000 Ada Generation", F.adaPro, 22, 2130, 16, 16380, 224, 70),
	card("RTX 4000 SFF Ada Generation", F.adaPro, 48, 1560, 20, 20475, 280, 70),
	card("RTX 4000 Ada Generation", F.adaPro, 48, 2175, 20, 20475, 360, 130),
	card("RTX 4500 Ada Generation", F.adaPro, 60, 2580, 24, 24570, 432, 210),
	card("RTX 5000 Ada Generation", F.adaPro, 100, 2550, 32, 32760, 576, 250, { doubt: [adaProDoubt] }),
	card("RTX 6000 Ada Generation", F.adaPro, 142, 2505, 48, 49140, 960, 300, { doubt: [adaProDoubt] }),
];

const hopper: readonly Profile[] = [
	card("H100 PCIe", F.hopper, 114, 1755, 80, 81559, 2039, 350, { tensorMHz: 1620 }),
	card("H100 80GB HBM3", F.hopper, 132, 1980, 80, 81559, 3352, 700, { tensorMHz: 1830 }),
	card("H100 NVL", F.hopper, 132, 1785, 94, 95830, 3938, 400, { tensorMHz: 1545 }),
	card("H800 PCIe", F.hopper, 114, 1755, 80, 81559, 2039, 350, { tensorMHz: 1620, rates: { fp64: 0.8e12 } }),
	card("H800", F.hopper, 132, 1980, 80, 81559, 3352, 700, { tensorMHz: 1830, rates: { fp64: 1e12 } }),
	card("H20", F.hopper, 78, 1980, 96, 97871, 4000, 500, {
		rates: { int8: 296e12, fp8: 296e12, fp16: 148e12, bf16: 148e12, tf32: 74e12, fp64: 1e12 },
		doubt: [{ facts: ["fp32", "int32"], why: "the data sheet prints 44 TFLOPS, 78 SMs at 1980 MHz give 39.5" }],
	}),
	card("H20-3e", F.hopper, 78, 1980, 141, 143771, 4800, 500, {
		rates: { int8: 296e12, fp8: 296e12, fp16: 148e12, bf16: 148e12, tf32: 74e12, fp64: 1e12 },
		doubt: [{ facts: ["fp32", "int32"], why: "as the H20's" }],
	}),
	card("H200", F.hopper, 132, 1980, 141, 143771, 4800, 700, { tensorMHz: 1830 }),
	card("H200 NVL", F.hopper, 132, 1785, 141, 143771, 4800, 600, { tensorMHz: 1545 }),
	card("GH200 480GB", F.hopper, 132, 1980, 96, 97871, 4000, 900, { tensorMHz: 1830, also: ["GH200 120GB"] }),
	card("GH200 144G HBM3e", F.hopper, 132, 1980, 144, 146831, 4900, 900, { tensorMHz: 1830 }),
];

const blackwell: readonly Profile[] = [
	card("B100", F.blackwellDc, 148, 1580, 180, 0, 8000, 700, { tensorMHz: 1440, doubt: [clockDoubt] }),
	card("B200", F.blackwellDc, 148, 1965, 180, 183359, 8000, 1000, { tensorMHz: 1860 }),
	card("GB200", F.blackwellDc, 148, 2062, 186, 189471, 8000, 1200, { doubt: [clockDoubt] }),
	card("B300 SXM6 AC", F.blackwellUltra, 148, 1920, 288, 275040, 8000, 1100, { tensorMHz: 1860, doubt: [clockDoubt] }),
	card("GB300", F.blackwellUltra, 148, 2062, 288, 0, 8000, 1400, { doubt: [clockDoubt] }),
	card(`${G}5050`, F.blackwellGeforce, 20, 2572, 8, 8151, 320, 130),
	card(`${G}5060`, F.blackwellGeforce, 30, 2497, 8, 8151, 448, 145),
	card(`${G}5060 Ti 8GB`, F.blackwellGeforce, 36, 2572, 8, 8151, 448, 180, { name: `${G}5060 Ti` }),
	card(`${G}5060 Ti 16GB`, F.blackwellGeforce, 36, 2572, 16, 16311, 448, 180, { name: `${G}5060 Ti` }),
	card(`${G}5070`, F.blackwellGeforce, 48, 2512, 12, 12227, 672, 250),
	card(`${G}5070 Ti`, F.blackwellGeforce, 70, 2452, 16, 16303, 896, 300),
	card(`${G}5080`, F.blackwellGeforce, 84, 2617, 16, 16303, 960, 360),
	card(`${G}5090 D`, F.blackwellGeforce, 170, 2407, 32, 32607, 1792, 575, {
		doubt: [{ facts: GEMM_PRECISIONS, why: "its tensor rates were cut; by how much is not printed" }],
	}),
	card(`${G}5090`, F.blackwellGeforce, 170, 2407, 32, 32607, 1792, 575),
	card("RTX PRO 4000 Blackwell", F.blackwellPro, 70, 2617, 24, 24467, 672, 140),
	card("RTX PRO 4500 Blackwell", F.blackwellPro, 82, 2617, 32, 32623, 896, 200),
	card("RTX PRO 5000 Blackwell", F.blackwellPro, 110, 2617, 48, 0, 1344, 300, { doubt: [clockDoubt] }),
	card("RTX PRO 5000 72GB Blackwell", F.blackwellPro, 110, 2617, 72, 73415, 1344, 300, { doubt: [clockDoubt] }),
	card("RTX PRO 6000 Blackwell Max-Q Workstation Edition", F.blackwellPro, 188, 2288, 96, 97887, 1792, 300),
	card("RTX PRO 6000 Blackwell Workstation Edition", F.blackwellPro, 188, 2617, 96, 97887, 1792, 600),
	card("RTX PRO 6000 Blackwell Server Edition", F.blackwellProDc, 188, 2617, 96, 97887, 1597, 600),
];

export const PROFILES: readonly Profile[] = [...turing, ...ampere, ...ada, ...hopper, ...blackwell];

/**
 * Every profile the driver gives this name; several where one name covers several memory sizes, none when it
 * is unknown.
 */
export function profilesNamed(name: string): readonly Profile[] {
	const wanted = normalName(name);
	return PROFILES.filter(({ names }) => names.some((known) => normalName(known) === wanted));
}
