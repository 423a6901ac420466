// RISC Zero's published constants: one Groth16 key for all releases, and each release's control root and
// BN254 control id. Facts, from risc0/risc0-ethereum: contracts/src/groth16/Groth16Verifier.sol and the
// history of ControlID.sol. A test derives every selector from them. The order of a key's words: alpha x, y;
// beta, gamma, delta each x imaginary, x real, y imaginary, y real; then a point for each input.
import { G2_ONE_WORDS } from "../../protocol/maths/bn254.ts";
import { HERMEZ_CEREMONY } from "../../protocol/maths/hermez.ts";

export const RISC0_KEY: readonly string[] = [
	...HERMEZ_CEREMONY,
	...G2_ONE_WORDS,
	"03b03cd5effa95ac9bee94f1f5ef907157bda4812ccf0b4c91f42bb629f83a1c",
	"1aa085ff28179a12d922dba0547057ccaae94b9d69cfaa4e60401fea7f3e0333",
	"110c10134f200b19f6490846d518c9aea868366efb7228ca5c91d2940d030762",
	"1e60f31fcbf757e837e867178318832d0b2d74d59e2fea1c7142df187d3fc6d3",
	"12ac9a25dcd5e1a832a9061a082c15dd1d61aa9c4d553505739d0f5d65dc3be4",
	"025aa744581ebe7ad91731911c898569106ff5a2d30f3eee2b23c60ee980acd4",
	"0707b920bc978c02f292fae2036e057be54294114ccc3c8769d883f688a1423f",
	"2e32a094b7589554f7bc357bf63481acd2d55555c203383782a4650787ff6642",
	"0bca36e2cbe6394b3e249751853f961511011c7148e336f4fd974644850fc347",
	"2ede7c9acf48cf3a3729fa3d68714e2a8435d4fa6db8f7f409c153b1fcdf9b8b",
	"1b8af999dbfbb3927c091cc2aaf201e488cbacc3e2c6b6fb5a25f9112e04f2a7",
	"2b91a26aa92e1b6f5722949f192a81c850d586d81a60157f3e9cf04f679cccd6",
	"2b5f494ed674235b8ac1750bdfd5a7615f002d4a1dcefeddd06eda5a076ccd0d",
	"2fe520ad2020aab9cbba817fcbb9a863b8a76ff88f14f912c5e71665b2ad5e82",
	"0f1c3c0d5d9da0fa03666843cde4e82e869ba5252fce3c25d5940320b1c4d493",
	"214bfcff74f425f6fe8c0d07b307482d8bc8bb2f3608f68287aa01bd0b69e809",
];

interface Risc0Release {
	/** As the project numbers it; null: a state of the code between two releases. */
	readonly release: string | null;
	readonly controlRoot: string;
	/** In the byte order of the contracts. */
	readonly controlId: string;
	/** When the contracts had it first. */
	readonly since: string;
}

/** By selector. */
export const RISC0_RELEASES: Readonly<Record<string, Risc0Release>> = {
	f7ca3f2c: {
		release: null,
		controlRoot: "2c4aec26b74fdb27cd637d6106cfd64f6222aa55de73cd2b73189315b901ca09",
		controlId: "10ff834dbef62ccbba201ecd26a772e3036a075aacbaf47200679a11dcdcf10d",
		since: "2024-05-28",
	},
	"310fe598": {
		release: null,
		controlRoot: "a516a057c9fbf5629106300934d48e0e775d4230e41e503347cad96fcbde7e2e",
		controlId: "0eb6febcf06c5df079111be116f79bd8c7e85dc9448776ef9a59aaf2624ab551",
		since: "2024-06-24",
	},
	c9faac19: {
		release: null,
		controlRoot: "c43de805675563551857de3ee487c5167a26141467196700f43eb51f9c0ef505",
		controlId: "0eb6febcf06c5df079111be116f79bd8c7e85dc9448776ef9a59aaf2624ab551",
		since: "2024-07-15",
	},
	"4c630d87": {
		release: null,
		controlRoot: "9a3767040e4cf554112afa68bc043274a8636a06565e1d5e2b7fa90fda941218",
		controlId: "05a022e1db38457fb510bc347b30eb8f8cf3eda95587653d0eac19e1f10d164e",
		since: "2024-08-23",
	},
	"50bd1769": {
		release: null,
		controlRoot: "8b6dcf11d463ac455361b41fb3ed053febb817491bdea00fdb340e45013b852e",
		controlId: "05a022e1db38457fb510bc347b30eb8f8cf3eda95587653d0eac19e1f10d164e",
		since: "2024-11-15",
	},
	"0168e42c": {
		release: null,
		controlRoot: "d640cb16af201a715881c24d3e884718d56fa752fb5da55f2547f5295403d650",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-02-10",
	},
	"78f5c1dc": {
		release: null,
		controlRoot: "ffe166017b1ab460995b45510524c60e3756344feff2414f44cda25c33a78058",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-02-12",
	},
	"922fe23d": {
		release: null,
		controlRoot: "6fcbfc564e08874a235c181e75bb53547402b116957f700497bf482e08060a15",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-02-18",
	},
	"0807fd45": {
		release: null,
		controlRoot: "91d639615549c55dc491e60a5c3d9d301c364549c3372023fddbf406202af45b",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-02-18",
	},
	"14da014b": {
		release: null,
		controlRoot: "1193543e87956d31c39a87145e84332461dab71dc450b74507381f2d18e43447",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-02-22",
	},
	"9f39696c": {
		release: "2.0",
		controlRoot: "539032186827b06719244873b17b2d4c122e2d02cfb1994fe958b2523b844576",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-03-20",
	},
	c101b42b: {
		release: null,
		controlRoot: "8cdad9242664be3112aba377c5425a4df735eb1c6966472b561d2855932c0469",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-03-20",
	},
	ff146928: {
		release: null,
		controlRoot: "f709b76b730c1d31d748c9763745482e8e37f256c07b5e5682d1a45b76746519",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-03-21",
	},
	f536085a: {
		release: "2.1",
		controlRoot: "884389273e128b32475b334dec75ee619b77cb33d41c332021fe7e44c746ee60",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-07-08",
	},
	"73c457ba": {
		release: "3.0",
		controlRoot: "a54dc85ac99f851c92d7c96d7318af41dbe7c0194edfcc37eb4d422a998c1f56",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-09-23",
	},
	"7f3d0102": {
		release: null,
		controlRoot: "c9cd2d004642e46838bdef0c4f426d2608af844fd193ee594658ce5947faa218",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-11-11",
	},
	bb001d44: {
		release: "2.2",
		controlRoot: "ce52bf56033842021af3cf6db8a50d1b7535c125a34f1a22c6fdcf002c5a1529",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-11-13",
	},
	a7b87ed1: {
		release: null,
		controlRoot: "eaa9781258978a50eedc56067be88673133e41277ab2fa3ed477e7598886413b",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2025-11-14",
	},
	"8875b7f3": {
		release: null,
		controlRoot: "ab0e9172f4306b6a3b2250055036565c2421683b39ee6c20366d17350756ad19",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2026-01-22",
	},
	c27d1bc0: {
		release: null,
		controlRoot: "b1f64013f70bbb386a8b3a3d63552c5cb5ea4a549ec7fb1ecc2a031dbf488167",
		controlId: "04446e66d300eb7fb45c9726bb53c793dda407a62e9601618bb43c5c14657ac0",
		since: "2026-01-23",
	},
};
