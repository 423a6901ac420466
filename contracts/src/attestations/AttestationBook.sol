// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {P256} from "@openzeppelin/contracts/utils/cryptography/P256.sol";
import {IAttestations} from "./IAttestations.sol";
import {IntelReader} from "./IntelReader.sol";
import {RevokedSerials} from "./RevokedSerials.sol";

/// What is known of Intel's certificates, lists and texts, which attestation keys may sign, and what their
/// guests answered. Checks and state, no events. Nothing goes backwards: a certificate, list or text replaces
/// only an older one, and what is revoked stays so.
library AttestationBook {
    using RevokedSerials for RevokedSerials.Serials;

    struct Text {
        bytes32 hash;
        uint40 from;
        uint40 until;
        uint32 evaluation;
    }

    struct Book {
        /// 0 is the root.
        mapping(uint16 authority => IAttestations.Authority) authorities;
        mapping(bytes32 keyHash => uint16 authority) numbers;
        uint16 last;
        // INVARIANT: none is ever taken out.
        mapping(uint16 authority => RevokedSerials.Serials) revoked;
        mapping(bytes8 platform => Text) infos;
        Text identity;
        mapping(bytes32 id => IAttestations.Registered) keys;
        // INVARIANT: written once.
        mapping(bytes32 question => bytes32 set) sets;
    }

    /// Of the order of P-256.
    uint256 private constant HALF_N = 0x7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8;
    /// What is fetched after a block's time was set may be younger than it.
    uint256 private constant LEAD = 1 days;
    uint8 private constant CERT_SIGN = 0x04;
    bytes32 private constant TEXT_SIGNER = keccak256("Intel SGX TCB Signing");

    function mustHaveSigned(bytes32 x, bytes32 y, IAttestations.Signed calldata what) internal view {
        if (uint256(what.s) > HALF_N) revert IAttestations.SignatureHigh();
        if (!P256.verify(sha256(what.body), what.r, what.s, x, y)) revert IAttestations.SignatureWrong();
    }

    /// One that is neither at its end nor revoked.
    function known(Book storage book, uint16 number, bool isIssuer)
        private
        view
        returns (IAttestations.Authority storage found)
    {
        found = book.authorities[number];
        if (found.until == 0) revert IAttestations.AuthorityUnknown(number);
        if (found.isIssuer != isIssuer) revert IAttestations.CertificateOther();
        if (found.isRevoked) revert IAttestations.Revoked(0, found.serial);
        if (block.timestamp > found.until) revert IAttestations.Ended(found.until);
    }

    function mustHold(uint256 from, uint256 until) private view {
        if (block.timestamp < from) revert IAttestations.NotYet(from);
        if (block.timestamp > until) revert IAttestations.Ended(until);
    }

    function certify(Book storage book, IntelReader reader, IAttestations.Signed calldata certificate)
        internal
        returns (uint16 number) {
        IAttestations.Authority storage root = known(book, 0, true);
        mustHaveSigned(root.key.x, root.key.y, certificate);
        IAttestations.Certificate memory read = reader.certificate(certificate.body);
        mustHold(read.from, read.until);
        if (book.revoked[0].has(read.serial)) revert IAttestations.Revoked(0, read.serial);
        bool isSigner = !read.isCa && read.name == TEXT_SIGNER;
        if (!isSigner && (!read.isCa || read.usage & CERT_SIGN == 0)) revert IAttestations.CertificateOther();
        bytes32 keyHash = keccak256(abi.encode(read.key));
        number = book.numbers[keyHash];
        if (number == 0) {
            number = ++book.last;
            book.numbers[keyHash] = number;
        }
        IAttestations.Authority storage one = book.authorities[number];
        uint40 until = least(read.until, root.until);
        if (until <= one.until) revert IAttestations.Older(read.from);
        // The root's own key is nobody else's.
        if (keyHash == keccak256(abi.encode(root.key))) revert IAttestations.CertificateOther();
        (one.key, one.serial, one.until, one.isIssuer, one.isRevoked) = (read.key, read.serial, until, !isSigner, false);
    }

    /// How many were not known to be revoked. `told` is called for each.
    function list(
        Book storage book,
        IntelReader reader,
        uint16 number,
        IAttestations.Signed calldata crl,
        function(uint16, uint160) internal told
    ) internal returns (uint256 fresh) {
        IAttestations.Authority storage issuer = known(book, number, true);
        mustHaveSigned(issuer.key.x, issuer.key.y, crl);
        (uint256 from, uint256 until, uint160[] memory serials) = reader.crl(crl.body);
        if (from > block.timestamp + LEAD) revert IAttestations.NotYet(from);
        if (block.timestamp > until) revert IAttestations.Ended(until);
        if (from <= issuer.listFrom) revert IAttestations.Older(from);
        (issuer.listFrom, issuer.listUntil) = (uint40(from), least(until, type(uint40).max));
        fresh = book.revoked[number].add(number, serials, told);
        if (number == 0 && fresh > 0) {
            for (uint16 i = 1; i <= book.last; i++) {
                if (book.revoked[0].has(book.authorities[i].serial)) book.authorities[i].isRevoked = true;
            }
        }
    }

    function least(uint256 a, uint256 b) private pure returns (uint40) {
        uint256 found = a < b ? a : b;
        return found < type(uint40).max ? uint40(found) : type(uint40).max;
    }

    /// The key of whoever signs texts.
    function signerOf(Book storage book, uint16 number) internal view returns (IAttestations.Authority storage) {
        return known(book, number, false);
    }

    function keep(Book storage book, Text storage kept, bytes32 hash, uint64 from, uint64 until, uint32 evaluation, uint16 signer)
        internal
    {
        if (from > block.timestamp + LEAD) revert IAttestations.NotYet(from);
        if (block.timestamp > until) revert IAttestations.Ended(until);
        if (evaluation < kept.evaluation || from <= kept.from) revert IAttestations.Older(from);
        (kept.hash, kept.from, kept.evaluation) = (hash, uint40(from), evaluation);
        kept.until = least(until, book.authorities[signer].until);
    }

    function register(Book storage book, IntelReader reader, IAttestations.Registration calldata entry)
        internal
        returns (bytes32 id, IAttestations.Registered memory made)
    {
        IAttestations.Authority storage issuer = known(book, entry.authority, true);
        // The root signs no platforms.
        if (entry.authority == 0) revert IAttestations.CertificateOther();
        mustHaveSigned(issuer.key.x, issuer.key.y, entry.pck);
        IAttestations.Certificate memory pck = reader.certificate(entry.pck.body);
        if (pck.isCa || !pck.isPlatform) revert IAttestations.CertificateOther();
        mustHold(pck.from, pck.until);
        if (book.revoked[entry.authority].has(pck.serial)) revert IAttestations.Revoked(entry.authority, pck.serial);
        mustHaveSigned(pck.key.x, pck.key.y, entry.qe);
        mustVouch(entry);
        uint40 until = collateral(book, entry, pck);
        until = least(until, least(least(pck.until, issuer.until), least(issuer.listUntil, book.authorities[0].listUntil)));
        if (block.timestamp > until) revert IAttestations.Ended(until);
        mustBeCurrent(entry, pck);
        id = idOf(entry.key, entry.teeTcbSvn, entry.seam);
        made = IAttestations.Registered(until, entry.authority, pck.serial);
        book.keys[id] = made;
    }

    /// A key, and the TDX module whose quotes it signs: TCB levels depend on both.
    function idOf(IAttestations.Key calldata key, bytes16 teeTcbSvn, bytes calldata seam) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(key.x, key.y, teeTcbSvn, seam));
    }

    /// The quoting enclave's report vouches for the key: its report data is the key's hash, then zeros.
    function mustVouch(IAttestations.Registration calldata entry) private pure {
        bytes calldata qe = entry.qe.body;
        if (qe.length != 384) revert IAttestations.FormWrong(qe.length);
        if (entry.seam.length != 56) revert IAttestations.FormWrong(entry.seam.length);
        bytes32 due = sha256(abi.encodePacked(entry.key.x, entry.key.y, entry.qeAuth));
        if (bytes32(qe[320:352]) != due || bytes32(qe[352:384]) != 0) revert IAttestations.QeWrong();
        // Debug
        if (qe[48] & 0x02 != 0) revert IAttestations.QeWrong();
    }

    /// That what is told of Intel's texts is what they said, of this platform. Until when they hold.
    function collateral(Book storage book, IAttestations.Registration calldata entry, IAttestations.Certificate memory platform)
        private
        view
        returns (uint40)
    {
        if (entry.info.fmspc != platform.fmspc || entry.info.pceId != platform.pceId) revert IAttestations.CollateralOther();
        Text storage info = book.infos[platformOf(platform.fmspc, platform.pceId)];
        if (info.hash != keccak256(abi.encode(entry.info))) revert IAttestations.CollateralOther();
        if (book.identity.hash != keccak256(abi.encode(entry.identity))) revert IAttestations.CollateralOther();
        return least(info.until, book.identity.until);
    }

    function platformOf(bytes6 fmspc, bytes2 pceId) internal pure returns (bytes8) {
        return bytes8(abi.encodePacked(fmspc, pceId));
    }

    /// Enclave, platform and module each have a level that is accepted.
    function mustBeCurrent(IAttestations.Registration calldata entry, IAttestations.Certificate memory platform) private pure {
        bool isAccepted = enclaveState(entry);
        isAccepted = platformState(entry, platform) && isAccepted;
        isAccepted = moduleState(entry) && isAccepted;
        if (!isAccepted) revert IAttestations.TcbRefused();
    }

    function enclaveState(IAttestations.Registration calldata entry) private pure returns (bool) {
        bytes calldata qe = entry.qe.body;
        IAttestations.QeIdentity calldata due = entry.identity;
        // Little-endian, as the processor has it; Intel's text has it the other way round.
        uint32 misc = reversed(uint32(bytes4(qe[16:20])));
        if (bytes4(misc) & due.miscMask != due.misc) revert IAttestations.QeWrong();
        if (bytes16(qe[48:64]) & due.mask != due.attributes) revert IAttestations.QeWrong();
        if (bytes32(qe[128:160]) != due.signer) revert IAttestations.QeWrong();
        if (uint256(uint8(qe[256])) + 256 * uint256(uint8(qe[257])) != due.product) revert IAttestations.QeWrong();
        return stateOf(due.levels, uint256(uint8(qe[258])) + 256 * uint256(uint8(qe[259])));
    }

    function reversed(uint32 v) private pure returns (uint32) {
        return (v >> 24) | ((v >> 8) & 0xff00) | ((v << 8) & 0xff0000) | (v << 24);
    }

    function stateOf(IAttestations.SvnLevel[] calldata levels, uint256 svn) private pure returns (bool) {
        for (uint256 i = 0; i < levels.length; i++) {
            if (svn >= levels[i].svn) return levels[i].isAccepted;
        }
        revert IAttestations.TcbUnknown();
    }

    /// The first level, from the newest, that is reached in everything. With a version in SVN 1 the module
    /// has levels of its own, and its two bytes do not count here.
    function platformState(IAttestations.Registration calldata entry, IAttestations.Certificate memory platform)
        private
        pure
        returns (bool)
    {
        uint256 from = entry.teeTcbSvn[1] != 0 ? 2 : 0;
        IAttestations.Level[] calldata levels = entry.info.levels;
        for (uint256 i = 0; i < levels.length; i++) {
            if (
                platform.pceSvn >= levels[i].pceSvn && reaches(platform.components, levels[i].sgx, 0)
                    && reaches(entry.teeTcbSvn, levels[i].tdx, from)
            ) return levels[i].isAccepted;
        }
        revert IAttestations.TcbUnknown();
    }

    function reaches(bytes16 has, bytes16 due, uint256 from) private pure returns (bool) {
        for (uint256 i = from; i < 16; i++) {
            if (has[i] < due[i]) return false;
        }
        return true;
    }

    function moduleState(IAttestations.Registration calldata entry) private pure returns (bool) {
        uint8 version = uint8(entry.teeTcbSvn[1]);
        IAttestations.Module[] calldata modules = entry.info.modules;
        for (uint256 i = 0; i < modules.length; i++) {
            if (modules[i].version != version) continue;
            if (keccak256(entry.seam[0:48]) != modules[i].signer) revert IAttestations.TcbUnknown();
            if (bytes8(entry.seam[48:56]) & modules[i].mask != modules[i].attributes) revert IAttestations.TcbUnknown();
            return version == 0 || stateOf(modules[i].levels, uint8(entry.teeTcbSvn[0]));
        }
        revert IAttestations.TcbUnknown();
    }

    /// Until when the key may sign; reverts when it may not.
    function mustBeRegistered(Book storage book, bytes32 id) internal view {
        IAttestations.Registered memory key = book.keys[id];
        if (key.until == 0) revert IAttestations.KeyUnknown(id);
        if (block.timestamp > key.until) revert IAttestations.KeyEnded(key.until);
        if (book.revoked[key.authority].has(key.serial)) revert IAttestations.Revoked(key.authority, key.serial);
        if (book.authorities[key.authority].isRevoked) {
            revert IAttestations.Revoked(0, book.authorities[key.authority].serial);
        }
    }

    function answer(Book storage book, bytes32 bind, bytes32 guest, bytes32 set) internal {
        bytes32 question = questionOf(bind, guest);
        if (book.sets[question] != 0) revert IAttestations.AlreadyAttested(book.sets[question]);
        book.sets[question] = set;
    }

    function questionOf(bytes32 bind, bytes32 guest) internal pure returns (bytes32) {
        return keccak256(abi.encode(bind, guest));
    }
}
