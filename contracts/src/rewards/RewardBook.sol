// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;



/// The state machine of emissions: reserve → pot of an epoch → owed to a provider → collected; what nobody
/// claims is carried over into the next pot. No tokens, no proofs: Rewards has those.
library RewardBook {
    /// One bit an epoch, and half a slot for what they add up to.
    uint64 internal constant WORD_EPOCHS = 128;

    struct Pot {
        uint128 amount;
        /// What providers have claimed of it, collected or not.
        uint128 paid;
    }

    /// What one provider has claimed of WORD_EPOCHS epochs. One slot: a claim changes no other but the pot's,
    /// so even the first one ever makes only one slot new (22,100 gas), and a token's balance, which may be
    /// another, is touched by `collect` alone.
    struct Word {
        uint128 claimedBits;
        uint128 owed;
    }

    struct Book {
        // INVARIANT: tokens held = reserve + carry + Σ (amount − paid) over pots that are not swept + Σ owed,
        // and what strangers sent.
        uint128 reserve;
        uint128 carry;
        uint64 lastFixed;
        bool any;
        mapping(uint64 => Pot) pots;
        mapping(uint64 => bool) isFixed;
        mapping(uint64 => bool) swept;
        /// By provider and epoch / WORD_EPOCHS.
        mapping(address => mapping(uint64 => Word)) words;
    }

    /// @notice Thrown when the emission of a later epoch is fixed.
    error EpochLapsed(uint64 epoch);
    /// @notice Thrown when the provider has claimed for this epoch before.
    error AlreadyClaimed(uint64 epoch, address provider);
    /// @notice Thrown when less than the claim is left in the pot.
    error PotExceeded();
    /// @notice Thrown when the provider is owed nothing in these words.
    error NothingOwed(address provider);
    /// @notice Thrown when the pot is not fixed, swept already, or empty.
    error NothingToCarry();

    /// Epochs are fixed in ascending order; one that was left out draws nothing: its emission stays in the
    /// reserve.
    function fix(Book storage book, uint64 epoch, uint128 emissionPerEpoch) internal returns (uint128 pot, bool fresh) {
        if (book.any && epoch < book.lastFixed) revert EpochLapsed(epoch);
        if (book.isFixed[epoch]) return (book.pots[epoch].amount, false);
        uint128 drawn = book.reserve < emissionPerEpoch ? book.reserve : emissionPerEpoch;
        pot = drawn + book.carry;
        book.reserve -= drawn;
        book.carry = 0;
        book.lastFixed = epoch;
        book.any = true;
        book.isFixed[epoch] = true;
        book.pots[epoch].amount = pot;
        return (pot, true);
    }

    /// INVARIANT: a provider is credited once an epoch, and an epoch never gives more than its pot, whatever
    /// a proposal says.
    function credit(Book storage book, uint64 epoch, address provider, uint128 amount) internal {
        Word storage word = book.words[provider][epoch / WORD_EPOCHS];
        (uint128 bits, uint128 owed) = (word.claimedBits, word.owed);
        uint128 bit = bitOf(epoch);
        if (bits & bit != 0) revert AlreadyClaimed(epoch, provider);
        Pot storage pot = book.pots[epoch];
        (uint128 all, uint128 paid) = (pot.amount, pot.paid);
        if (amount > all - paid) revert PotExceeded();
        pot.paid = paid + amount;
        // Should the sum ever pass 128 bits it is refused until the provider has collected.
        (word.claimedBits, word.owed) = (bits | bit, owed + amount);
    }

    /// INVARIANT: what is owed leaves a word once; a word that is named twice gives nothing the second time.
    /// Depends on no clock, pause or proposal.
    function collect(Book storage book, address provider, uint64[] calldata words) internal returns (uint256 amount) {
        for (uint256 i = 0; i < words.length; i++) {
            Word storage word = book.words[provider][words[i]];
            amount += word.owed;
            word.owed = 0;
        }
        if (amount == 0) revert NothingOwed(provider);
    }

    function isClaimed(Book storage book, uint64 epoch, address provider) internal view returns (bool) {
        return book.words[provider][epoch / WORD_EPOCHS].claimedBits & bitOf(epoch) != 0;
    }

    function bitOf(uint64 epoch) private pure returns (uint128) {
        return uint128(1) << (epoch % WORD_EPOCHS);
    }

    /// What is owed already is not of the pot any more.
    function sweep(Book storage book, uint64 epoch) internal returns (uint128 left) {
        Pot storage pot = book.pots[epoch];
        if (book.swept[epoch] || !book.isFixed[epoch]) revert NothingToCarry();
        left = pot.amount - pot.paid;
        if (left == 0) revert NothingToCarry();
        book.swept[epoch] = true;
        book.carry += left;
    }
}
