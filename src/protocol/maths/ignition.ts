// What is published of Aztec's Ignition: τ in the second group, and the ids of the first powers. docs/zk.md
// §1. Verifiers here and on chain know these numbers and no file.

/** τ in the second group, imaginary parts first: as in Aztec's contracts. */
export const IGNITION_TAU = [
	0x260e01b251f6f1c7e7ff4e580791dee8ea51d87a358e038b4efe30fac09383c1n,
	0x0118c4d5b837bcc2bc89b5b398b5974e9f5944073b32078b7e231fec938883b0n,
	0x04fc6369f7110fe3d25156c1bb9a72859cf2a04641f99ba4ee413c80da6a5fe4n,
	0x22febda3c0c0632a56475b4214e5615e11e6dd3f96e6cea2854a87d4dacc5e55n,
] as const;

/** Ids of the first so many of them: as many as lists of 2^c scalars need, c even. */
export const IGNITION_IDS: ReadonlyMap<number, string> = new Map([
	[2 ** 4, "02c3db48a872fddd2e3644948c413f204b586d7dd8a88327cbf68af1fad64ba4"],
	[2 ** 6, "7319187afdcfb19597322afbc4e173e570d8dd120217b6ef5a4ef336d2ccfa0f"],
	[2 ** 8, "ec605c37e5b90d49aea0d15f802e45332bc19ccb1d52c21f9b237888a55410ef"],
	[2 ** 10, "0730e3421b701ac1f31713fe08757e60fbf9c03a51aa1063d721725968f22ffa"],
	[2 ** 12, "7f3f517a5ec424a569d19619d4c95d50623de4c39306ad071e0ad4fae11b3be8"],
	[2 ** 14, "b48d117dd032e982aacf87246db70cdcdada081d7530a46fabffa5b9e53949e5"],
]);
