// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {PLAN, P_GROUPS, P_INPUTS, P_LINKS, P_LINK_LIST} from "./Layout.sol";
import {TwinValues} from "./TwinValues.sol";
import {ZkPlan} from "./ZkPlan.sol";

/// Single numbers of a registered plan, for contracts that verify nothing: each is read from the code of the
/// account that has its image. `place`: as in Layout.sol.
library PlanFacts {
    /// The account, which must be one.
    function known(address image) internal view returns (address) {
        if (image.code.length == 0) revert ZkPlan.PlanUnknown();
        return image;
    }

    function read(address image, uint256 place) internal view returns (uint256 word) {
        assembly ("memory-safe") {
            // The image begins behind the code's first byte.
            extcodecopy(image, 0x00, add(sub(place, PLAN), 1), 0x20)
            word := mload(0x00)
        }
    }

    /// Sizes of all layers, inputs first.
    function layersOf(address image) internal view returns (uint256[] memory layers) {
        (uint256 links, uint256 list) = (read(image, P_LINKS), read(image, P_LINK_LIST));
        layers = new uint256[](links + 1);
        layers[0] = read(image, P_INPUTS);
        for (uint256 i = 0; i < links; i++) layers[i + 1] = (read(image, list + 64 * i) >> 224) + 1;
    }

    /// Commitments to the weights after a segment.
    function chunksAfter(address image) internal view returns (uint256) {
        return read(image, P_GROUPS + 128 * uint256(TwinValues.Group.After) + 32);
    }

    /// Places of all weights, padding included: they are the first ones of their group.
    function weightPlaces(address image) internal view returns (uint256 count) {
        uint256[] memory layers = layersOf(image);
        for (uint256 i = 0; i + 1 < layers.length; i++) {
            count += 1 << (ZkPlan.bitsFor(layers[i]) + ZkPlan.bitsFor(layers[i + 1]));
        }
    }
}
