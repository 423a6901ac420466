// How many devices a host may have. Apart from the shapes of an evidence file (evidence.ts), so that a page
// which names a device loads none of them.
export const MAX_DEVICES = 64;
