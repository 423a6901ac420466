// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {AttestationBook} from "./AttestationBook.sol";
import {IAttestations} from "./IAttestations.sol";
import {IntelReader} from "./IntelReader.sol";
import {RevokedSerials} from "./RevokedSerials.sol";
import {TdQuote} from "./TdQuote.sol";

/// See IAttestations. No owner, no tokens, no setter: only Intel's signatures change what is known.
contract Attestations is IAttestations {
    using AttestationBook for AttestationBook.Book;
    using RevokedSerials for RevokedSerials.Serials;

    IntelReader public immutable READER;
    AttestationBook.Book private _book;

    /// `rootKey` is that of Intel's root, which ends at `rootUntil`.
    constructor(Key memory rootKey, uint40 rootUntil, IntelReader reader) {
        READER = reader;
        _book.authorities[0].key = rootKey;
        (_book.authorities[0].until, _book.authorities[0].isIssuer) = (rootUntil, true);
    }

    /// @inheritdoc IAttestations
    function certify(Signed calldata certificate) external returns (uint16 authority) {
        authority = _book.certify(READER, certificate);
        Authority storage made = _book.authorities[authority];
        emit AuthorityAdded(authority, made.key, made.serial, made.until, made.isIssuer);
    }

    /// @inheritdoc IAttestations
    function list(uint16 authority, Signed calldata crl) external {
        uint256 fresh = _book.list(READER, authority, crl, tell);
        emit Listed(authority, _book.authorities[authority].listFrom, _book.authorities[authority].listUntil, fresh);
    }

    function tell(uint16 authority, uint160 serial) private {
        emit CertificateRevoked(authority, serial);
    }

    /// @inheritdoc IAttestations
    function inform(uint16 authority, Signed calldata text) external {
        Authority storage signer = _book.signerOf(authority);
        AttestationBook.mustHaveSigned(signer.key.x, signer.key.y, text);
        TcbInfo memory info = READER.tcbInfo(text.body);
        AttestationBook.Text storage kept = _book.infos[AttestationBook.platformOf(info.fmspc, info.pceId)];
        _book.keep(kept, keccak256(abi.encode(info)), info.from, info.until, info.evaluation, authority);
        emit Informed(info.fmspc, info.pceId, info);
    }

    /// @inheritdoc IAttestations
    function identify(uint16 authority, Signed calldata text) external {
        Authority storage signer = _book.signerOf(authority);
        AttestationBook.mustHaveSigned(signer.key.x, signer.key.y, text);
        QeIdentity memory identity = READER.qeIdentity(text.body);
        bytes32 hash = keccak256(abi.encode(identity));
        _book.keep(_book.identity, hash, identity.from, identity.until, identity.evaluation, authority);
        emit Identified(identity);
    }

    /// @inheritdoc IAttestations
    function register(Registration calldata entry) external returns (bytes32 id) {
        Registered memory made;
        (id, made) = _book.register(READER, entry);
        emit KeyRegistered(id, made.authority, made.serial, made.until);
    }

    /// @inheritdoc IAttestations
    function attest(Signed calldata quote, Key calldata key, bytes32 bind, bytes32 guest) external returns (bytes32 set) {
        bytes calldata body = TdQuote.bodyOf(quote.body);
        bytes32 id = AttestationBook.idOf(key, bytes16(body[0:16]), body[64:120]);
        _book.mustBeRegistered(id);
        AttestationBook.mustHaveSigned(key.x, key.y, quote);
        if (bytes32(body[520:552]) != bind) revert BindWrong(bytes32(body[520:552]));
        set = bytes32(body[552:584]);
        if (set == 0) revert SetMissing();
        TdQuote.mustBeGuarded(body);
        if (TdQuote.guestOf(body) != guest) revert GuestOther(TdQuote.guestOf(body));
        _book.answer(bind, guest, set);
        emit Attested(bind, guest, id, set);
    }

    /// @inheritdoc IAttestations
    function setOf(bytes32 bind, bytes32 guest) external view returns (bytes32) {
        return _book.sets[AttestationBook.questionOf(bind, guest)];
    }

    /// @inheritdoc IAttestations
    function keyOf(bytes32 id) external view returns (Registered memory found) {
        found = _book.keys[id];
        if (
            block.timestamp > found.until || _book.revoked[found.authority].has(found.serial)
                || _book.authorities[found.authority].isRevoked
        ) return Registered(0, 0, 0);
    }

    /// @inheritdoc IAttestations
    function authorityOf(uint16 authority) external view returns (Authority memory) {
        return _book.authorities[authority];
    }

    /// @inheritdoc IAttestations
    function numberOf(Key calldata key) external view returns (uint16) {
        return _book.numbers[keccak256(abi.encode(key))];
    }

    /// @inheritdoc IAttestations
    function authorityCount() external view returns (uint16) {
        return _book.last;
    }

    /// @inheritdoc IAttestations
    function isRevoked(uint16 authority, uint160 serial) external view returns (bool) {
        return _book.revoked[authority].has(serial);
    }
}
