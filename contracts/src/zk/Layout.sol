// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Where things lie in the memory of a verification: addresses of words, fixed, so that the sums of docs/zk.md
// §5 can be computed without carrying them about. First what the parts share; then a plan's image, byte for
// byte what the code of its account is (ZkPlan); then lists, one after the other.

// Order of the scalars.
uint256 constant FIELD = 0x80;
// State of the transcript, right before a message's kind, length and bytes: up to 6 scalars.
uint256 constant STATE = 0xa0;
uint256 constant HEAD = 0xc0;
uint256 constant MESSAGE = 0xc5;
// Of the next scalar, in the calldata.
uint256 constant NEXT = 0x1a0;
// Where the sums ended: behind the last variable of the first, second and last one's cube; the first variable
// of the third's. Of the point for bytes: behind the last.
uint256 constant R_END = 0x1c0;
uint256 constant S_END = 0x1e0;
uint256 constant T_AT = 0x200;
uint256 constant RHO_END = 0x220;
uint256 constant BYTES_END = 0x240;
// What each member of a list counts: of the first, second and third sum.
uint256 constant AMONG = 0x260;
uint256 constant PRODUCTS = 0x280;
uint256 constant USES = 0x2a0;
uint256 constant ALPHA = 0x2c0;
uint256 constant BETA = 0x2e0;
uint256 constant NU = 0x300;
// Values of z and q, and of the weights at the end and at their steps.
uint256 constant Z = 0x320;
uint256 constant Q = 0x340;
uint256 constant AFTER_VALUE = 0x360;
uint256 constant WEIGHT = 0x380;
// Of the order of rows: what RowOrder keeps of each bit, and a place with bits that are the same in all of
// the segment.
uint256 constant ORDER = 0x3a0;
uint256 constant PLACE = 0x3c0;
// eq of the last k variables of the first, of the second sum and of rho, k = 0, 1, …
uint256 constant R_EQS = 0x3e0;
uint256 constant S_EQS = 0x400;
// eq of each block's place and rho; at 0 stands 0, for blocks that a link does not have.
uint256 constant BLOCKS = 0x420;
// A sum of points, and room for the next term.
uint256 constant POINT = 0x440;
uint256 constant TERM = 0x480;
uint256 constant TERM_TIMES = 0x4c0;
// Of each commitment, in their order: how often it counts.
uint256 constant SHARES = 0x4e0;
// Of each claim, 28 words: values, and powers of η. Claims and their order are those of SegmentClaims.
uint256 constant VALUES = 0x500;
uint256 constant ETAS = 0x880;
uint256 constant ETA_H = 0x880;
uint256 constant ETA_A = 0x8a0;
uint256 constant ETA_M = 0x8c0;
uint256 constant ETA_LOW = 0x8e0;
uint256 constant ETA_HELPER = 0x900;
uint256 constant ETA_D = 0x920;
uint256 constant ETA_LOW_BACK = 0x940;
uint256 constant ETA_HELPER_BACK = 0x960;
uint256 constant ETA_LOSS_D = 0x980;
uint256 constant ETA_LOSS_HELPER = 0x9a0;
uint256 constant ETA_LOSS = 0x9c0;
uint256 constant ETA_LAST_COLUMN = 0x9e0;
uint256 constant ETA_BIAS_HELPER = 0xa00;
uint256 constant ETA_AFTER = 0xa20;
uint256 constant ETA_LIMB0 = 0xa40;
uint256 constant ETA_LIMB1 = 0xa60;
uint256 constant ETA_WEIGHT_HELPER = 0xa80;
uint256 constant ETA_MULTIPLICITY = 0xaa0;
uint256 constant ETA_TABLE_HELPER = 0xac0;
uint256 constant ETA_HELPER_SUM = 0xae0;
uint256 constant ETA_OPERAND = 0xb00;
uint256 constant ETA_START = 0xb20;
uint256 constant ETA_ENTERING = 0xb40;
uint256 constant ETA_GRADIENT = 0xb60;
uint256 constant ETA_BYTES = 0xb80;

// A plan's image: first what its hash is of.
uint256 constant PLAN = 0xc00;
uint256 constant P_HASH = 0xc00;
uint256 constant P_PROGRAM = 0xc20;
uint256 constant P_STEPS = 0xc40;
uint256 constant P_BATCH = 0xc60;
uint256 constant P_ROW_BITS = 0xc80;
uint256 constant P_EPOCHS = 0xca0;
uint256 constant P_SCALE = 0xcc0;
uint256 constant P_ACTIVATION = 0xd20;
uint256 constant P_LIMB0 = 0xd60;
uint256 constant P_LIMB1 = 0xd80;
uint256 constant P_LIMB2 = 0xda0;
uint256 constant P_CHUNK_BITS = 0xdc0;
uint256 constant P_LINKS = 0xde0;
// Bits of steps and of both steps and places of a batch, times 32.
uint256 constant P_STEP_SIZE = 0xe00;
uint256 constant P_PLACE_SIZE = 0xe20;
uint256 constant P_TABLES = 0xe40;
// Variables of the last sum, of the first, of its list, of the second, of its list, of the third's list, of
// the point for bytes.
uint256 constant P_BITS = 0xe60;
uint256 constant P_R_BITS = 0xe80;
uint256 constant P_LIST_BITS = 0xea0;
uint256 constant P_S_BITS = 0xec0;
uint256 constant P_PRODUCT_BITS = 0xee0;
uint256 constant P_USE_BITS = 0xf00;
uint256 constant P_BYTE_BITS = 0xf20;
// Commitments and scalars of a proof, commitments of a statement.
uint256 constant P_POINTS = 0xf40;
uint256 constant P_SCALARS = 0xf60;
uint256 constant P_TOLD = 0xf80;
// Numbers of tables from 1 on: of what rounding leaves, below and above, of limbs, of d.
uint256 constant P_LOW_TAG = 0xfa0;
uint256 constant P_HIGH_TAG = 0xfc0;
uint256 constant P_LIMB_TAG0 = 0xfe0;
uint256 constant P_LIMB_TAG1 = 0x1000;
uint256 constant P_LIMB_TAG2 = 0x1020;
uint256 constant P_D_TAG = 0x1040;
// 1/2^n for the bits below, of two limbs, between activations and gradients.
uint256 constant P_LOW_SHIFT = 0x1060;
uint256 constant P_LIMB_SHIFT = 0x1080;
uint256 constant P_LOSS_SHIFT = 0x10a0;
// Layers that differ, then pairs of layers that differ, each as a word; behind the image each has a record,
// in the same order. Then links, two words each: places of 14 blocks among all of them, 16 bits each, and
// above them the size of its outputs less 1; and where its pair's record is. Then tables. Where the records
// begin, and what lies behind them.
uint256 constant P_LAYER_LIST = 0x10c0;
uint256 constant P_PAIR_LIST = 0x10e0;
uint256 constant P_LINK_LIST = 0x1100;
uint256 constant P_TABLE_LIST = 0x1120;
uint256 constant P_LAYER_RECORDS = 0x1140;
uint256 constant P_PAIR_RECORDS = 0x1160;
uint256 constant P_FREE = 0x1180;
// Places of features and labels among the blocks; of all blocks there are so many.
uint256 constant P_FEATURES = 0x11a0;
uint256 constant P_LABELS = 0x11c0;
uint256 constant P_COUNT = 0x11e0;
// Of six groups: first chunk, chunks, bits, and where its sizes of blocks are listed: bits · 2^16 + how many,
// largest first, then 0.
uint256 constant P_GROUPS = 0x1200;
// Bits of the largest table; size of the first layer.
uint256 constant P_TABLE_BITS = 0x1500;
uint256 constant P_INPUTS = 0x1520;
uint256 constant P_LISTS = 0x1540;

// A record of a layer: size - 1, bits · 32; then values that do not differ between links with such a layer.
uint256 constant LAYER_LAST = 0x00;
uint256 constant LAYER_SIZE = 0x20;
// eq of the layer's last unit and the last variables of the second sum, of the first.
uint256 constant LAYER_S_CORNER = 0x40;
uint256 constant LAYER_R_CORNER = 0x60;
// Whether a step of the third sum is before one of the second, over this layer.
uint256 constant LAYER_BEFORE = 0x80;
// Share of a sum over this layer.
uint256 constant LAYER_SHARE = 0xa0;
// η of a claim times eq of (step, place), and those of a block of this layer's units at rho: of the third sum
// for gradients, for what enters; of the first, with the layer's last unit.
uint256 constant LAYER_GRADIENT = 0xc0;
uint256 constant LAYER_ENTERING = 0xe0;
uint256 constant LAYER_BIAS = 0x100;
uint256 constant LAYER_RECORD = 0x120;

// A record of a pair, inputs and outputs of a link: the two layers' records.
uint256 constant PAIR_IN = 0x00;
uint256 constant PAIR_OUT = 0x20;
// eq of the steps of the first and second sum: for z of such a link, for q of the one before it. With their
// shares.
uint256 constant PAIR_FORTH = 0x40;
uint256 constant PAIR_BACK = 0x60;
// η of a claim times eq of what enters products and rho: what enters z of such a link, what enters q of the
// one before.
uint256 constant PAIR_ENTERING = 0x80;
uint256 constant PAIR_RETURNING = 0xa0;
// eq of the outputs at the end of the segment, and rho.
uint256 constant PAIR_OUTPUT = 0xc0;
// η of a claim times eq of weights at the start and rho: used forth, back, and at the end (with ν).
uint256 constant PAIR_START_FORTH = 0xe0;
uint256 constant PAIR_START_BACK = 0x100;
uint256 constant PAIR_START_END = 0x120;
// eq of units of the outputs, of weights, where the first sum ended, and rho.
uint256 constant PAIR_UNITS = 0x140;
uint256 constant PAIR_WEIGHTS = 0x160;
uint256 constant PAIR_RECORD = 0x180;

function read(uint256 place) pure returns (uint256 value) {
    assembly ("memory-safe") {
        value := mload(place)
    }
}

function times(uint256 a, uint256 b) pure returns (uint256 product) {
    assembly ("memory-safe") {
        product := mulmod(a, b, mload(FIELD))
    }
}
