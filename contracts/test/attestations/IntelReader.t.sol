// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAttestations} from "../../src/attestations/IAttestations.sol";
import {IntelReader} from "../../src/attestations/IntelReader.sol";
import {Cheats} from "../Cheats.sol";

/// The reader of Intel's texts: what it takes, and that it refuses each thing beside it by its own error, not
/// by running out of its bytes.
contract IntelReaderTest is Cheats {
    IntelReader private reader;
    string private constant DATES = '"issueDate":"2029-09-19T19:09:59Z","nextUpdate":"2030-01-02T03:04:05Z"';
    string private constant MODULE =
        '{"mrsigner":"000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000","attributes":"0000000000000000","attributesMask":"FFFFFFFFFFFFFFFF"}';
    string private constant STATUS = '"tcbDate":"2024-03-13T00:00:00Z","tcbStatus":"UpToDate"';

    function setUp() public {
        reader = new IntelReader();
    }

    // ---- texts

    /// Sixteen of them, the last as given.
    function components(string memory last) private pure returns (string memory text) {
        text = "[";
        for (uint256 i = 0; i < 15; i++) text = string.concat(text, '{"svn":9},');
        return string.concat(text, last, "]");
    }

    function tcb(string memory last, string memory more) private pure returns (string memory) {
        return string.concat('{"sgxtcbcomponents":', components(last), ',"pcesvn":19', more, ',"tdxtcbcomponents":', components('{"svn":255}'), "}");
    }

    function levelOf(string memory of_) private pure returns (string memory) {
        return string.concat('{"tcb":', of_, ",", STATUS, "}");
    }

    function repeated(string memory one, uint256 count) private pure returns (string memory text) {
        text = one;
        for (uint256 i = 1; i < count; i++) text = string.concat(text, ",", one);
        return string.concat("[", text, "]");
    }

    function infoOf(string memory head, string memory identities, string memory levels) private pure returns (string memory) {
        return string.concat(
            '{"id":"TDX","version":3,', DATES, ',"fmspc":"00806F050000","pceId":"0000","tcbType":0,', head, '"tdxModule":', MODULE, identities, ',"tcbLevels":', levels, "}"
        );
    }

    string private constant NUMBER = '"tcbEvaluationDataNumber":19,';

    function right() private pure returns (string memory) {
        return infoOf(NUMBER, "", repeated(levelOf(tcb('{"svn":8,"category":"BIOS"}', "")), 1));
    }

    function withLevel(string memory of_) private pure returns (string memory) {
        return infoOf(NUMBER, "", repeated(of_, 1));
    }

    function withMember(string memory member) private pure returns (string memory) {
        return infoOf(string.concat(NUMBER, member, ","), "", repeated(levelOf(tcb('{"svn":8}', "")), 1));
    }

    function withModule(string memory id, string memory levels) private pure returns (string memory) {
        string memory one = string.concat(
            '[{"id":"', id, '","more":[{"a":"}"},[1,"]"]],',
            '"mrsigner":"000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000","attributes":"0000000000000000","attributesMask":"FFFFFFFFFFFFFFFF","tcbLevels":',
            levels, "}]"
        );
        return infoOf(NUMBER, string.concat(',"tdxModuleIdentities":', one), repeated(levelOf(tcb('{"svn":8}', "")), 1));
    }

    string private constant SVN_LEVEL = '{"tcb":{"isvsvn":9},"tcbDate":"2024-03-13T00:00:00Z","tcbStatus":"UpToDate"}';

    function qeOf(string memory head, string memory levels) private pure returns (string memory) {
        return string.concat(
            "{", head, DATES,
            ',"tcbEvaluationDataNumber":19,"miscselect":"00000000","miscselectMask":"FFFFFFFF","attributes":"11000000000000000000000000000000","attributesMask":"FBFFFFFFFFFFFFFF0000000000000000","mrsigner":"DC9E2A7C6F948F17474E34A7FC43ED030F7C1563F1BABDDF6340C82E0E54A8C5","isvprodid":2,"tcbLevels":',
            levels, "}"
        );
    }

    string private constant QE_HEAD = '"id":"TD_QE","version":2,';

    // ---- how they are taken

    function mustRefuse(string memory text) private view {
        try reader.tcbInfo(bytes(text)) {
            assertTrue(false, text);
        } catch (bytes memory because) {
            assertTrue(bytes4(because) == IAttestations.TextWrong.selector, text);
        }
    }

    function mustRefuseQe(string memory text) private view {
        try reader.qeIdentity(bytes(text)) {
            assertTrue(false, text);
        } catch (bytes memory because) {
            assertTrue(bytes4(because) == IAttestations.TextWrong.selector, text);
        }
    }

    function cut(string memory text, uint256 length) private pure returns (string memory) {
        bytes memory part = new bytes(length);
        for (uint256 i = 0; i < length; i++) part[i] = bytes(text)[i];
        return string(part);
    }

    function without(string memory text, string memory part) private pure returns (string memory) {
        (bytes memory all, bytes memory gone) = (bytes(text), bytes(part));
        for (uint256 i = 0; i + gone.length <= all.length; i++) {
            bool isHere = true;
            for (uint256 j = 0; j < gone.length && isHere; j++) isHere = all[i + j] == gone[j];
            if (!isHere) continue;
            bytes memory rest = new bytes(all.length - gone.length);
            for (uint256 j = 0; j < rest.length; j++) rest[j] = all[j < i ? j : j + gone.length];
            return string(rest);
        }
        revert Untrue(part);
    }

    // ---- what is right

    function test_infos() public view {
        IAttestations.TcbInfo memory info = reader.tcbInfo(bytes(right()));
        assertEq(info.from, 1_884_539_399);
        assertEq(info.until, 1_893_553_445);
        assertTrue(info.fmspc == 0x00806f050000 && info.pceId == 0 && info.evaluation == 19, "whose");
        assertEq(info.levels.length, 1);
        assertTrue(info.levels[0].sgx == 0x09090909090909090909090909090908, "sgx");
        assertTrue(info.levels[0].tdx == 0x090909090909090909090909090909ff, "tdx");
        assertTrue(info.levels[0].pceSvn == 19 && info.levels[0].isAccepted, "level");
        assertTrue(info.modules.length == 1 && info.modules[0].version == 0, "module");
    }

    function test_modules() public view {
        string[4] memory ids = ["TDX_01", "TDX_0a", "TDX_A0", "TDX_9f"];
        uint8[4] memory versions = [1, 10, 160, 159];
        for (uint256 i = 0; i < ids.length; i++) {
            IAttestations.Module memory one = reader.tcbInfo(bytes(withModule(ids[i], repeated(SVN_LEVEL, 2)))).modules[1];
            assertEq(one.version, versions[i]);
            assertTrue(one.levels.length == 2 && one.levels[0].svn == 9 && one.levels[0].isAccepted, "levels");
        }
        mustRefuse(withModule("TDX_00", "[]"));
        mustRefuse(withModule("TDX_0g", "[]"));
        mustRefuse(withModule("TDX_001", "[]"));
        mustRefuse(withModule("TDX_1", "[]"));
    }

    function test_most() public view {
        string memory level = levelOf(tcb('{"svn":8}', ""));
        assertEq(reader.tcbInfo(bytes(infoOf(NUMBER, "", repeated(level, 64)))).levels.length, 64);
        mustRefuse(infoOf(NUMBER, "", repeated(level, 65)));
        assertEq(reader.tcbInfo(bytes(withModule("TDX_01", repeated(SVN_LEVEL, 64)))).modules[1].levels.length, 64);
        mustRefuse(withModule("TDX_01", repeated(SVN_LEVEL, 65)));
        // As long as a text may be, and one byte longer.
        uint256 length = bytes(withMember('"x":""')).length;
        bytes memory filling = new bytes(32_768 - length);
        for (uint256 i = 0; i < filling.length; i++) filling[i] = "a";
        reader.tcbInfo(bytes(withMember(string.concat('"x":"', string(filling), '"'))));
        string memory longer = withMember(string.concat('"x":"a', string(filling), '"'));
        (bool isTaken, bytes memory because) = address(reader).staticcall(abi.encodeCall(IntelReader.tcbInfo, (bytes(longer))));
        assertTrue(!isTaken, "too long");
        assertEq(keccak256(because), keccak256(abi.encodeWithSelector(IAttestations.TextWrong.selector, 32_769)));
    }

    function test_identities() public view {
        IAttestations.QeIdentity memory found = reader.qeIdentity(bytes(qeOf(QE_HEAD, repeated(SVN_LEVEL, 64))));
        assertTrue(found.product == 2 && found.levels.length == 64 && found.evaluation == 19, "identity");
        assertEq(found.from, 1_884_539_399);
        // Members that nobody asks for, as in TCB info.
        assertEq(reader.qeIdentity(bytes(qeOf(string.concat(QE_HEAD, '"x":[1,{"y":"}"}],'), "[]"))).product, 2);
        mustRefuseQe(qeOf(string.concat(QE_HEAD, '"x":[1,'), "[]"));
        mustRefuseQe(qeOf(QE_HEAD, repeated(SVN_LEVEL, 65)));
        mustRefuseQe(qeOf('"id":"TD_QE","version":3,', "[]"));
        mustRefuseQe(qeOf('"id":"TD_QE","version":2,"version":2,', "[]"));
        mustRefuseQe(string.concat(qeOf(QE_HEAD, "[]"), " "));
        mustRefuseQe(string.concat(qeOf(QE_HEAD, "[]"), "}"));
        mustRefuseQe(without(qeOf(QE_HEAD, "[]"), ',"isvprodid":2'));
        mustRefuseQe(qeOf(QE_HEAD, '[{"tcb":{"isvsvn":9}}]'));
        mustRefuseQe(qeOf(QE_HEAD, '[{"tcb":{"isvsvn":65536},"tcbStatus":"UpToDate"}]'));
    }

    // ---- what is wrong

    function test_cut() public view {
        string memory text = right();
        for (uint256 length = 1; length < bytes(text).length; length += 7) mustRefuse(cut(text, length));
        mustRefuse(cut(text, bytes(text).length - 1));
        mustRefuse("");
        mustRefuse(string.concat(text, "}"));
        mustRefuse(string.concat(text, " "));
    }

    function test_missing() public view {
        string[8] memory parts = [
            '"id":"TDX",',
            '"version":3,',
            '"issueDate":"2029-09-19T19:09:59Z",',
            ',"nextUpdate":"2030-01-02T03:04:05Z"',
            ',"fmspc":"00806F050000"',
            ',"pceId":"0000"',
            '"tcbEvaluationDataNumber":19,',
            ',"pcesvn":19'
        ];
        for (uint256 i = 0; i < parts.length; i++) mustRefuse(without(right(), parts[i]));
        mustRefuse(without(right(), string.concat(',"tcbLevels":', repeated(levelOf(tcb('{"svn":8,"category":"BIOS"}', "")), 1))));
        mustRefuse(without(right(), string.concat('"tdxModule":', MODULE, ",")));
        mustRefuse(without(right(), ',"tcbStatus":"UpToDate"'));
        mustRefuse(without(right(), ',"attributesMask":"FFFFFFFFFFFFFFFF"'));
    }

    function test_twice() public view {
        mustRefuse(withMember('"version":3'));
        mustRefuse(withMember('"fmspc":"00806F050000"'));
        mustRefuse(withMember('"tcbEvaluationDataNumber":19'));
        mustRefuse(withLevel(levelOf(tcb('{"svn":8}', ',"pcesvn":19'))));
    }

    function test_values() public view {
        mustRefuse(infoOf('"tcbEvaluationDataNumber":4294967296,', "", "[]"));
        mustRefuse(infoOf('"tcbEvaluationDataNumber":,', "", "[]"));
        assertEq(reader.tcbInfo(bytes(infoOf('"tcbEvaluationDataNumber":4294967295,', "", "[]"))).evaluation, type(uint32).max);
        string memory text = without(right(), ',"fmspc":"00806F050000"');
        string[5] memory wrong = ['"00806F0500"', '"00806F05000000"', '"00806F05000"', '"00806F05000g"', '"00806F05000/"'];
        for (uint256 i = 0; i < wrong.length; i++) {
            mustRefuse(string.concat('{"fmspc":', wrong[i], ",", cut2(text)));
        }
        reader.tcbInfo(bytes(string.concat('{"fmspc":"00806F050000",', cut2(text))));
        text = without(right(), '"issueDate":"2029-09-19T19:09:59Z",');
        string[5] memory dates =
            ['"2029-09-19T19:09:59"', '"2029-09-19T19:09:59z"', '"2029-09-19T19:09:590Z"', '"2029-09-19T1:09:59Z"', '"2029-0a-19T19:09:59Z"'];
        for (uint256 i = 0; i < dates.length; i++) {
            mustRefuse(string.concat('{"issueDate":', dates[i], ",", cut2(text)));
        }
    }

    /// What follows the first brace.
    function cut2(string memory text) private pure returns (string memory) {
        bytes memory rest = new bytes(bytes(text).length - 1);
        for (uint256 i = 0; i < rest.length; i++) rest[i] = bytes(text)[i + 1];
        return string(rest);
    }

    /// A name of 32 bytes is read and another; a longer one is none that is known.
    function test_names() public view {
        string memory text = cut2(without(right(), '"id":"TDX",'));
        string[2] memory ids = ["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"];
        for (uint256 i = 0; i < ids.length; i++) {
            bytes4 due = i == 0 ? IAttestations.CollateralOther.selector : IAttestations.TextWrong.selector;
            try reader.tcbInfo(bytes(string.concat('{"id":"', ids[i], '",', text))) {
                assertTrue(false, ids[i]);
            } catch (bytes memory because) {
                assertTrue(bytes4(because) == due, ids[i]);
            }
        }
        reader.tcbInfo(bytes(withMember(string.concat('"', ids[0], '":1'))));
        reader.tcbInfo(bytes(withMember(string.concat('"', ids[1], '":1'))));
    }

    function test_components() public view {
        // Of two the first counts, wherever it stands.
        IAttestations.TcbInfo memory info = reader.tcbInfo(bytes(withLevel(levelOf(tcb('{"category":"BIOS","svn":3,"svn":4}', "")))));
        assertEq(uint8(info.levels[0].sgx[15]), 3);
        reader.tcbInfo(bytes(withLevel(levelOf(tcb('{"svn":8}', ',"more":{"a":[1,2]}')))));
        mustRefuse(withLevel(levelOf(tcb('{"category":"BIOS"}', ""))));
        mustRefuse(withLevel(levelOf(tcb('{"svn":256}', ""))));
        mustRefuse(withLevel(levelOf(tcb('{"svn":8},{"svn":8}', ""))));
    }

    /// Each of the four that the policy accepts, and no other.
    function test_statuses() public view {
        string[4] memory accepted = ["UpToDate", "SWHardeningNeeded", "ConfigurationNeeded", "ConfigurationAndSWHardeningNeeded"];
        string[6] memory others = ["OutOfDate", "OutOfDateConfigurationNeeded", "Revoked", "", "UpToDat", "UpToDatee"];
        for (uint256 i = 0; i < accepted.length; i++) assertTrue(isAccepted(accepted[i]), accepted[i]);
        for (uint256 i = 0; i < others.length; i++) assertTrue(!isAccepted(others[i]), others[i]);
    }

    function isAccepted(string memory status) private view returns (bool) {
        string memory one = string.concat('{"tcb":', tcb('{"svn":8}', ""), ',"tcbStatus":"', status, '"}');
        return reader.tcbInfo(bytes(withLevel(one))).levels[0].isAccepted;
    }

    /// Members that nobody asks for.
    function test_others() public view {
        string[12] memory rightOnes = [
            '"x":1', '"x":-1.5e3', '"x":true', '"x":null', '"x":""', '"x":"a,b:c}"', '"x":{}', '"x":[]', '"x":{"a":{"b":[1,{"c":"]"}]},"d":2}',
            '"x":[1,2,[3,"}"],{"a":1}]', '"x":[[],{}]', '"":0'
        ];
        for (uint256 i = 0; i < rightOnes.length; i++) assertEq(reader.tcbInfo(bytes(withMember(rightOnes[i]))).evaluation, 19);
        string[8] memory wrongOnes = ['"x":', '"x":,1', '"x":,"y":1', '"x"::1', '"x":"a\\"b"', '"x":"a\\\\b"', '"x"', '"x":[1,2'];
        for (uint256 i = 0; i < wrongOnes.length; i++) mustRefuse(withMember(wrongOnes[i]));
        // The last member of all.
        string memory text = right();
        reader.tcbInfo(bytes(string.concat(cut(text, bytes(text).length - 1), ',"x":1}')));
        reader.tcbInfo(bytes(string.concat(cut(text, bytes(text).length - 1), ',"x":[1]}')));
        mustRefuse(string.concat(cut(text, bytes(text).length - 1), ',"x":1]'));
    }

    // ---- contracts/vectors/readers.json

    function answer(uint256 which, bytes memory text) private view returns (bytes memory found) {
        bytes4 selector = which == 0 ? IntelReader.tcbInfo.selector : IntelReader.qeIdentity.selector;
        (, found) = address(reader).staticcall(abi.encodeWithSelector(selector, text));
    }

    /// In calls of their own, whose memory is free again.
    function changed(uint256 which, bytes calldata text, uint256 at_, uint256 cut_, bytes calldata put) external view returns (uint32) {
        return uint32(bytes4(keccak256(answer(which, bytes.concat(text[:at_], put, text[at_ + cut_:])))));
    }

    function swept(uint256 which, bytes memory text, bytes1 letter) external view returns (uint32) {
        bytes32 sum;
        for (uint256 i = 0; i < text.length; i++) {
            bytes1 before = text[i];
            text[i] = letter;
            sum = keccak256(bytes.concat(sum, answer(which, text)));
            text[i] = before;
        }
        return uint32(bytes4(sum));
    }

    function sweptOfCuts(uint256 which, bytes calldata text) external view returns (uint32) {
        bytes32 sum;
        for (uint256 i = 0; i < text.length; i++) sum = keccak256(bytes.concat(sum, answer(which, text[:i])));
        return uint32(bytes4(sum));
    }

    /// Texts that mislead: the same bytes come back as from a reader that goes one byte after another.
    function test_misleading() public {
        reader = IntelReader(deployCode("IntelReader", ""));
        string memory json = vm.readFile("contracts/vectors/readers.json");
        bytes[] memory texts = vm.parseJsonBytesArray(json, ".texts");
        bytes[] memory put = vm.parseJsonBytesArray(json, ".put");
        uint256[] memory which = vm.parseJsonUintArray(json, ".which");
        uint256[] memory at_ = vm.parseJsonUintArray(json, ".at");
        uint256[] memory cut_ = vm.parseJsonUintArray(json, ".cut");
        uint256[] memory due = vm.parseJsonUintArray(json, ".due");
        assertTrue(due.length > 1_000, "vectors");
        for (uint256 i = 0; i < due.length; i++) {
            if (this.changed(which[i], texts[which[i]], at_[i], cut_[i], put[i]) != due[i]) revert Untrue(vm.toString(i));
        }
    }

    /// Every letter of two texts replaced by each of some others, and cut there.
    function test_everyLetter() public {
        reader = IntelReader(deployCode("IntelReader", ""));
        string memory json = vm.readFile("contracts/vectors/readers.json");
        bytes[] memory texts = vm.parseJsonBytesArray(json, ".texts");
        bytes memory letters = vm.parseJsonBytesArray(json, ".letters")[0];
        uint256[] memory due = vm.parseJsonUintArray(json, ".sweeps");
        assertEq(due.length, 2 * (letters.length + 1));
        for (uint256 i = 0; i < 2; i++) {
            uint256 first = i * (letters.length + 1);
            for (uint256 j = 0; j < letters.length; j++) assertEq(this.swept(i, texts[i], letters[j]), due[first + j]);
            assertEq(this.sweptOfCuts(i, texts[i]), due[first + letters.length]);
        }
    }
}
