// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Attestations} from "../../src/attestations/Attestations.sol";
import {IAttestations} from "../../src/attestations/IAttestations.sol";
import {Cheats} from "../Cheats.sol";

/// Registrations whose quoting enclave is another, bit by bit. The platform signs each: its key is the
/// mint's, so that nothing but the enclave is wrong.
contract EnclavesTest is Cheats {
    /// Of the mint's words "pck"; anybody's.
    uint256 private constant PLATFORM_KEY = 0x00f8734c4d08e3a88fe82ee1d2c8c6b2b9d4815937737e31f5f4045eee38665d;
    uint256 private constant ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551;

    Attestations private book;
    bytes private call;

    function setUp() public {
        string memory json = vm.readFile("contracts/vectors/attestations.json");
        bytes[] memory base = vm.parseJsonBytesArray(json, ".base");
        bytes32[] memory keys = vm.parseJsonBytes32Array(json, ".keys");
        address reader = deployCode("IntelReader", "");
        book = Attestations(deployCode("Attestations", abi.encode(keys[0], keys[1], uint40(4_102_444_799), reader)));
        vm.warp(vm.parseJsonUintArray(json, ".times")[0]);
        for (uint256 i = 0; i < 6; i++) {
            (bool isDone,) = address(book).call(base[i]);
            assertTrue(isDone, vm.toString(i));
        }
        call = base[6];
    }

    function argumentsOf(bytes calldata of_) external pure returns (bytes calldata) {
        return of_[4:];
    }

    function right() private view returns (IAttestations.Registration memory) {
        return abi.decode(this.argumentsOf(call), (IAttestations.Registration));
    }

    /// As the platform would sign it.
    function signed(IAttestations.Registration memory entry) private pure returns (bytes memory) {
        (bytes32 r, bytes32 s) = vm.signP256(PLATFORM_KEY, sha256(entry.qe.body));
        (entry.qe.r, entry.qe.s) = (r, uint256(s) > ORDER / 2 ? bytes32(ORDER - uint256(s)) : s);
        return abi.encodeCall(IAttestations.register, (entry));
    }

    function mustRefuse(IAttestations.Registration memory entry, bytes4 due) private {
        (bool isTaken, bytes memory because) = address(book).call(signed(entry));
        assertTrue(!isTaken, "it was taken");
        assertEq(bytes32(bytes4(because)), bytes32(due));
    }

    function mustTake(IAttestations.Registration memory entry, string memory what) private {
        (bool isTaken,) = address(book).call(signed(entry));
        assertTrue(isTaken, what);
    }

    function test_everyBit() public {
        IAttestations.Registration memory entry = right();
        mustTake(entry, "as it is");
        bytes memory qe = entry.qe.body;
        // What must be as Intel's identity has it: MISCSELECT, attributes, signer, product. Of the attributes
        // one bit may be any.
        uint8[2][4] memory parts = [[uint8(16), 20], [uint8(48), 64], [uint8(128), 160], [uint8(0), 2]];
        for (uint256 part = 0; part < parts.length; part++) {
            uint256 base = part == 3 ? 256 : 0;
            for (uint256 i = base + parts[part][0]; i < base + parts[part][1]; i++) {
                for (uint256 bit = 0; bit < 8; bit++) {
                    qe[i] ^= bytes1(uint8(1 << bit));
                    if (i == 48 && bit == 2) mustTake(entry, "a bit that may be any");
                    else mustRefuse(entry, IAttestations.QeWrong.selector);
                    qe[i] ^= bytes1(uint8(1 << bit));
                }
            }
        }
        mustTake(entry, "as it was");
    }

    /// Two bytes, the lower first.
    function test_versions() public {
        IAttestations.Registration memory entry = right();
        (bytes memory qe, bytes1 low) = (entry.qe.body, entry.qe.body[258]);
        (qe[258], qe[259]) = (0x00, 0x01);
        mustTake(entry, "256");
        (qe[258], qe[259]) = (0x07, 0x00);
        mustRefuse(entry, IAttestations.TcbRefused.selector);
        qe[258] = 0x03;
        mustRefuse(entry, IAttestations.TcbUnknown.selector);
        qe[258] = low;
        mustTake(entry, "as it was");
    }

    /// The issuer signed the platform's certificate, and the platform the enclave's report.
    function test_signatures() public {
        IAttestations.Registration memory entry = right();
        bytes memory due = abi.encodeWithSelector(IAttestations.SignatureWrong.selector);
        for (uint256 which = 0; which < 2; which++) {
            entry = right();
            if (which == 0) entry.pck.r ^= bytes32(uint256(1));
            else entry.qe.r ^= bytes32(uint256(1));
            (bool isTaken, bytes memory because) = address(book).call(abi.encodeCall(IAttestations.register, (entry)));
            assertTrue(!isTaken && keccak256(because) == keccak256(due), vm.toString(which));
        }
    }
}
