// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "./Bn254.sol";

/// The powers of tau that a verifier takes, named at its deployment for ever.
abstract contract Powers {
    /// τ in the second group.
    uint256 private immutable _tauXi;
    uint256 private immutable _tauXr;
    uint256 private immutable _tauYi;
    uint256 private immutable _tauYr;
    /// By the number of bits: the id of the first 2^bits powers, plus 1; 0: they have none.
    mapping(uint256 chunkBits => uint256) private _ids;

    /// @notice Thrown when no known powers of tau have so many points.
    error PowersUnknown(uint256 chunkBits);

    constructor(Bn254.G2 memory tau_, uint256[] memory bits, bytes32[] memory ids) {
        (_tauXi, _tauXr, _tauYi, _tauYr) = (tau_.xi, tau_.xr, tau_.yi, tau_.yr);
        for (uint256 i = 0; i < bits.length; i++) _ids[bits[i]] = uint256(ids[i]) + 1;
    }

    function tau() internal view returns (Bn254.G2 memory) {
        return Bn254.G2(_tauXi, _tauXr, _tauYi, _tauYr);
    }

    /// How statements name the first 2^chunkBits of them.
    function powersId(uint256 chunkBits) internal view returns (uint256) {
        uint256 id = _ids[chunkBits];
        if (id == 0) revert PowersUnknown(chunkBits);
        unchecked {
            return id - 1;
        }
    }
}
