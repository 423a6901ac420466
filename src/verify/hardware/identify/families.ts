// The families of cards: one line of units each. Operations per SM and clock, dense, as NVIDIA's architecture
// papers count them; fp8, fp16, bf16 and tf32 with fp32 accumulation, which GeForce cards run at half the
// rate of their fp16 accumulation. int32 counts multiply-adds (64 a clock and SM); the challenge rotates as
// well, so it reaches a share of that.
import { FLOAT_GEMM_PRECISIONS } from "../../../protocol/maths/precision.ts";
import type { Family, UnitRates } from "./profile.ts";

const TURING_HALF: UnitRates = { int8: 2048, fp16: 512, fp32: 128, fp64: 4, int32: 128 };
const GA10X_HALF: UnitRates = { int8: 2048, fp16: 512, bf16: 512, tf32: 256, fp32: 256, fp64: 4, int32: 128 };
const ADA_HALF: UnitRates = { ...GA10X_HALF, fp8: 1024 };
const FULL_16: UnitRates = { fp16: 1024, bf16: 1024, tf32: 512 };
const GA100: UnitRates = { int8: 4096, fp16: 2048, bf16: 2048, tf32: 1024, fp32: 128, fp64: 64, int32: 128 };
const GH100: UnitRates = {
	int8: 8192,
	fp8: 8192,
	fp16: 4096,
	bf16: 4096,
	tf32: 2048,
	fp32: 256,
	fp64: 128,
	int32: 128,
};
const GB100: UnitRates = { ...GH100, int8: 16384, fp8: 16384, fp16: 8192, bf16: 8192, tf32: 4096 };

const turing = { architecture: "turing", compute: "7.5" } as const;
const ga10x = { architecture: "ampere", compute: "8.6" } as const;
const ada = { architecture: "ada", compute: "8.9" } as const;
const blackwell = { architecture: "blackwell", compute: "12.0" } as const;
const dc = { market: "datacentre" } as const;
const rtx = { market: "workstation" } as const;
const geforce = { market: "geforce" } as const;

const INT32_SM120 = {
	facts: ["int32"],
	why: "whether integer multiply-adds run at 64 or 128 a clock and SM is not settled",
} as const;
const PRO_SM120 = {
	facts: ["int32", ...FLOAT_GEMM_PRECISIONS],
	why: "sources disagree whether fp32 accumulation runs at the full or at half the rate",
} as const;

export const FAMILIES = {
	turingGeforce: { ...turing, ...geforce, unitRates: TURING_HALF },
	turingPro: { ...turing, ...rtx, unitRates: { ...TURING_HALF, fp16: 1024 } },
	turingDc: { ...turing, ...dc, unitRates: { ...TURING_HALF, fp16: 1024 } },
	ga100: { architecture: "ampere", compute: "8.0", ...dc, unitRates: GA100 },
	ampereGeforce: { ...ga10x, ...geforce, unitRates: GA10X_HALF },
	amperePro: { ...ga10x, ...rtx, unitRates: { ...GA10X_HALF, ...FULL_16 } },
	ampereDc: { ...ga10x, ...dc, unitRates: { ...GA10X_HALF, ...FULL_16 } },
	adaGeforce: { ...ada, ...geforce, unitRates: ADA_HALF },
	adaPro: { ...ada, ...rtx, unitRates: { ...ADA_HALF, ...FULL_16, fp8: 2048 } },
	adaDc: { ...ada, ...dc, unitRates: { ...ADA_HALF, ...FULL_16, fp8: 2048 } },
	/** L40 and L20: their data sheets print half of what the L40S's prints, in every precision. */
	adaDcHalf: {
		...ada,
		...dc,
		unitRates: { ...ADA_HALF, int8: 1024 },
		doubt: { facts: ["int8"], why: "the data sheet prints half of what the same units give elsewhere" },
	},
	hopper: { architecture: "hopper", compute: "9.0", ...dc, unitRates: GH100 },
	blackwellDc: { architecture: "blackwell-dc", compute: "10.0", ...dc, unitRates: GB100 },
	blackwellUltra: {
		architecture: "blackwell-dc",
		compute: "10.3",
		...dc,
		unitRates: { ...GB100, int8: 1024, fp64: 4 },
		doubt: { facts: ["int8", "fp64"], why: "cut back against the B200; published only as rounded figures" },
	},
	blackwellGeforce: {
		...blackwell,
		...geforce,
		unitRates: { ...ADA_HALF, int32: 256 },
		doubt: INT32_SM120,
	},
	blackwellPro: {
		...blackwell,
		...rtx,
		unitRates: { ...ADA_HALF, ...FULL_16, fp8: 2048, int32: 256 },
		doubt: PRO_SM120,
	},
	blackwellProDc: {
		...blackwell,
		...dc,
		unitRates: { ...ADA_HALF, ...FULL_16, fp8: 2048, int32: 256 },
		doubt: PRO_SM120,
	},
} as const satisfies Record<string, Family>;
