// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAttestations} from "./IAttestations.sol";

/// Header and body of a TDX quote of version 4 or 5: form, and what a guest must not be. The twin of
/// src/verify/attestation/intel/quote.ts, and of the checks of guests beside it.
library TdQuote {
    /// Version 4, a key on P-256, TDX; Intel's quoting enclave from byte 12 on. The version may be 5.
    bytes8 private constant HEAD = hex"0400020081000000";
    bytes8 private constant HEAD_5 = hex"0500020081000000";
    bytes16 private constant INTEL_QE = hex"939a7233f79c4ca9940a0db3957f0607";
    /// Type and size of a body, where they are told.
    bytes6 private constant TD = hex"020048020000";
    bytes6 private constant TD_15 = hex"030088020000";
    /// Attributes that must be as they must be: all but PKS, KL and PERFMON. Of them this one alone is set.
    bytes8 private constant GUARDED = hex"00ffff3fffffff7f";
    bytes8 private constant SEPT_VE_DISABLE = hex"0000001000000000";

    /// Where its body begins. Exactly as long as it must be.
    function bodyOf(bytes calldata quote) internal pure returns (bytes calldata body) {
        if (quote.length < 632) revert IAttestations.FormWrong(quote.length);
        uint256 due = 632;
        uint256 place = 48;
        if (bytes8(quote[0:8]) == HEAD_5) {
            bytes6 kind = bytes6(quote[48:54]);
            if (kind != TD && kind != TD_15) revert IAttestations.FormWrong(48);
            (due, place) = (kind == TD ? 638 : 702, 54);
        } else if (bytes8(quote[0:8]) != HEAD) {
            revert IAttestations.FormWrong(0);
        }
        if (quote.length != due) revert IAttestations.FormWrong(quote.length);
        if (bytes16(quote[12:28]) != INTEL_QE) revert IAttestations.QeWrong();
        return quote[place:];
    }

    /// No debugging, no migration, no page taken unseen, nothing that is not known yet, no service TD.
    function mustBeGuarded(bytes calldata body) internal pure {
        if (body[120] != 0) revert IAttestations.GuestDebug();
        if (bytes8(body[120:128]) & GUARDED != SEPT_VE_DISABLE) revert IAttestations.GuestPolicy();
        if (body.length == 648 && (bytes32(body[600:632]) != 0 || bytes16(body[632:648]) != 0)) {
            revert IAttestations.GuestPolicy();
        }
    }

    /// All that is measured of a guest: MRTD, configuration, owner and the four registers.
    function guestOf(bytes calldata body) internal pure returns (bytes32) {
        return keccak256(body[136:520]);
    }
}
