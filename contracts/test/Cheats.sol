// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// The test runner's cheat codes that these tests use, and a few assertions, by the names of forge-std. Not
/// forge-std itself: what npm has under that name is a copy of 2022 whose Test.sol imports a file that is
/// not in it, and whose Vm.sol knows neither files nor JSON.
interface Vm {
    function addr(uint256 key) external pure returns (address);
    function chainId(uint256 id) external;
    function clearMockedCalls() external;
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function deal(address account, uint256 coins) external;
    function expectEmit(address emitter) external;
    function expectRevert() external;
    function expectRevert(bytes4 selector) external;
    function expectRevert(bytes calldata data) external;
    function fee(uint256 baseFee) external;
    function getCode(string calldata name) external view returns (bytes memory);
    function getNonce(address account) external view returns (uint64);
    function mockCall(address to, bytes calldata data, bytes calldata found) external;
    function mockCallRevert(address to, bytes calldata data, bytes calldata found) external;
    function parseJsonAddress(string calldata json, string calldata key) external pure returns (address);
    function parseJsonAddressArray(string calldata json, string calldata key) external pure returns (address[] memory);
    function parseJsonBytes32(string calldata json, string calldata key) external pure returns (bytes32);
    function parseJsonBytes32Array(string calldata json, string calldata key) external pure returns (bytes32[] memory);
    function parseJsonBytesArray(string calldata json, string calldata key) external pure returns (bytes[] memory);
    function parseJsonIntArray(string calldata json, string calldata key) external pure returns (int256[] memory);
    function parseJsonUintArray(string calldata json, string calldata key) external pure returns (uint256[] memory);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function prank(address sender) external;
    function readFile(string calldata path) external view returns (string memory);
    function roll(uint256 number) external;
    function setBlockhash(uint256 number, bytes32 hash) external;
    function sign(uint256 key, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function signP256(uint256 key, bytes32 digest) external pure returns (bytes32 r, bytes32 s);
    function startPrank(address sender) external;
    function stopPrank() external;
    function toString(uint256 value) external pure returns (string memory);
    function warp(uint256 time) external;
}

abstract contract Cheats {
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    error Unequal(uint256 found, uint256 wanted);
    error Untrue(string what);

    function assertEq(uint256 found, uint256 wanted) internal pure {
        if (found != wanted) revert Unequal(found, wanted);
    }

    function assertEq(bytes32 found, bytes32 wanted) internal pure {
        if (found != wanted) revert Unequal(uint256(found), uint256(wanted));
    }

    function assertEq(address found, address wanted) internal pure {
        if (found != wanted) revert Unequal(uint160(found), uint160(wanted));
    }

    function assertTrue(bool condition, string memory what) internal pure {
        if (!condition) revert Untrue(what);
    }

    /// A contract of src with the very code that is deployed: src is compiled apart from the tests, with the
    /// optimizer. `new` would compile it once more into each test, without. Reverts as its constructor does.
    function deployCode(string memory name, bytes memory arguments) internal returns (address made) {
        bytes memory code = bytes.concat(vm.getCode(name), arguments);
        assembly ("memory-safe") {
            made := create(0, add(code, 0x20), mload(code))
            if iszero(made) {
                let free := mload(0x40)
                returndatacopy(free, 0, returndatasize())
                revert(free, returndatasize())
            }
        }
    }

    function bound(uint256 value, uint256 min, uint256 max) internal pure returns (uint256) {
        return min + value % (max - min + 1);
    }

    /// The other signature that the curve gives for the same key and digest.
    function mirrored(bytes memory signature) internal pure returns (bytes memory) {
        (bytes32 r, bytes32 s, uint8 v) = (bytes32(0), bytes32(0), uint8(signature[64]));
        assembly ("memory-safe") {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
        }
        uint256 order = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;
        return abi.encodePacked(r, order - uint256(s), v == 27 ? uint8(28) : uint8(27));
    }

    function signed(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }
}
