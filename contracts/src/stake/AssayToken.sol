// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// A plain ERC-20 for the embedded chain and for tests: the whole supply to its deployer, no minting, no
/// owner. Any other plain ERC-20 (no fee on transfer, no rebasing) will do in its place.
contract AssayToken is ERC20 {
    constructor(uint256 supply) ERC20("Assay", "ASSAY") {
        _mint(msg.sender, supply);
    }
}
