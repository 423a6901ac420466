// What an epoch may pay and what an account earns of it, to the unit, always rounded down: what is left over
// stays for later epochs. Mirrors Scoreboard.potOf and contracts/src/epochs/WeightTree.sol. docs/epochs.md
// §3.

const PPM = 1_000_000n;

export interface PotFacts {
	readonly emissionPerEpoch: bigint;
	/** All that was ever funded, the second before the epoch's end. */
	readonly funded: bigint;
	/** What all accounts have earned up to the weights that are continued. */
	readonly allocated: bigint;
	/** All voting stake, the second before the epoch's end. */
	readonly totalStake: bigint;
	readonly quorumPpm: number;
	readonly signerSlashPpm: number;
}

/** Never more than what the signers of a lie would lose. */
export function potOf(of: PotFacts): bigint {
	const left = of.funded > of.allocated ? of.funded - of.allocated : 0n;
	const atStake = (((of.totalStake * BigInt(of.quorumPpm)) / PPM) * BigInt(of.signerSlashPpm)) / PPM;
	return [of.emissionPerEpoch, left, atStake].reduce((least, one) => (one < least ? one : least));
}

export interface ShareRules {
	/** Part of the pot that goes to the validators whose reports count, by stake. */
	readonly validatorPpm: number;
	/** The providers' part is paid in full at this sum of weights; below it in proportion. */
	readonly targetWeight: bigint;
}

export interface ShareFacts {
	readonly pot: bigint;
	readonly totalWeight: bigint;
	readonly weightPpm: number;
	/** Of the account, among the reports that count; 0 when it has none there. */
	readonly stake: bigint;
	readonly setStake: bigint;
}

export function earnedOf({ pot, totalWeight, weightPpm, stake, setStake }: ShareFacts, rules: ShareRules): bigint {
	const forValidators = (pot * BigInt(rules.validatorPpm)) / PPM;
	const full = totalWeight > rules.targetWeight ? totalWeight : rules.targetWeight;
	// A hostile statement may have a total of 0 beside weights: then nobody has a share of it.
	const asProvider = full === 0n ? 0n : ((pot - forValidators) * BigInt(weightPpm)) / full;
	const asValidator = setStake === 0n ? 0n : (forValidators * stake) / setStake;
	return asProvider + asValidator;
}
