// The powers of τ = keccak256("assay/zk/dev") mod r, which everybody knows: whoever proves over them proves
// nothing. For chains and tests that try things out, docs/zk.md §1. Numbers alone: src/verify/zk/srs.test.ts
// computes them again.

/** τ in the second group, imaginary parts first. */
export const DEV_TAU_G2 = [
	0x09c8ebc4a01255c26cbb2f88d6c2d9d300bc115eb30b71894ba5bc5ad6044202n,
	0x13a1322f6a66b1fedc901fdabd5d5d1f23866213c8688f92534a869ba95b4285n,
	0x2cca05a8ad83ce588645cf66b6a93d3bf9fc1cf515d58a21c5a3b1ccff93c76an,
	0x075be757bfe8b207957a258817c2de2ac8d87d87108fb9d766cdc8ce14a27a71n,
] as const;

/** Roots of the keccak trees over the first so many of them. */
export const DEV_ROOTS: ReadonlyMap<number, string> = new Map([
	[2 ** 4, "5432680b8c63c78a00111d40c61e7779752dfff136628f7a20f657054de7bb9e"],
	[2 ** 6, "579525f9561f3fe5b6e8a9b402c3086f4fda80815af033f3336a5e6af570b757"],
	[2 ** 8, "55c8a0de03731d8e5053dbd616d70c26d000a0c16a3009ae554fa3e13f9e2b49"],
	[2 ** 10, "b2c7a104d76bf3cce0cd3f2ef5d8c8e1badbf516c1cf83a11abe0aa50fe0df99"],
	[2 ** 12, "1d26bf770fe2ae5fd9fc4276fb8149abd877625b8a0ee30f2fe355ebf19d5cd2"],
	[2 ** 14, "2139281409f132ab768cff2f36b443caec50b5d6a2e4b2fd30951bb66327278c"],
]);
