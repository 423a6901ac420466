// Ids of chains that a validator makes by itself: whoever has the folder makes the blocks, so that their
// hashes prove nothing to others.

const FIRST = 0x4000_0000;
const COUNT = 0x4000_0000;

/** `random`: 32 bits, so that what is signed for one embedded chain means nothing on another. */
export const embeddedChainId = (random: number): number => FIRST + (random % COUNT);

export const isEmbeddedChainId = (chainId: number): boolean => chainId >= FIRST && chainId < FIRST + COUNT;
