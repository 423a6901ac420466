// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Who found a fault first. An accuser announces the hash of its name, the deed and a salt, and shows the
/// proof in a later block. A proof that was copied from the pool counts all the same, but nobody gains by it:
/// without an announcement of its own all that is taken is burned.
abstract contract Announcements {
    mapping(bytes32 hash => uint256 blockNumber) private _announced;

    /// Somebody will show something. Nobody can tell what.
    event Announced(bytes32 indexed hash);

    /// The first counts: nobody can make another's announcement later than it was.
    function announce(bytes32 hash) external {
        if (_announced[hash] == 0) _announced[hash] = block.number;
        emit Announced(hash);
    }

    /// In which block it was first announced; 0 when it was not.
    function announcedAt(bytes32 hash) external view returns (uint256 blockNumber) {
        return _announced[hash];
    }

    /// What is announced.
    function announcementOf(address accuser, bytes32 deed, bytes32 salt) public pure returns (bytes32) {
        return keccak256(abi.encode(accuser, deed, salt));
    }

    /// The caller, if it announced this deed in an earlier block; else nobody.
    function accuserOf(bytes32 deed, bytes32 salt) internal view returns (address) {
        uint256 announced = _announced[announcementOf(msg.sender, deed, salt)];
        return announced != 0 && announced < block.number ? msg.sender : address(0);
    }
}
