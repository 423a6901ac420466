// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {DeviceId, IRegistry} from "./IRegistry.sol";

/// Which provider a device identity belongs to, by electorate and schema. A binding runs out unless it is
/// stated again, so that a card that was sold becomes free by itself; and an electorate takes back what was
/// wrong.
library DeviceBook {
    struct Binding {
        address provider;
        uint64 until;
        /// No statement up to this one binds.
        uint64 revokedAt;
    }

    struct Book {
        // INVARIANT: one provider a key at a time: an unexpired binding is only ever replaced by its own
        // provider's, and ended by it or its electorate.
        mapping(bytes32 key => Binding) bindings;
    }

    /// `issuedAt` is the statement's: an old one cannot be replayed to stretch a binding.
    function bind(Book storage book, IRegistry.DeviceStatement calldata said, uint64 deviceSeconds)
        internal
        returns (uint64 until)
    {
        until = said.issuedAt + deviceSeconds;
        Binding storage binding = book.bindings[keyOf(said.electorate, said.schema, said.device)];
        (address provider, uint64 last) = (binding.provider, binding.until);
        if (said.issuedAt > block.timestamp || until <= block.timestamp || said.issuedAt <= binding.revokedAt) {
            revert IRegistry.StatementStale(said.issuedAt);
        }
        if (last > block.timestamp && provider != said.provider) {
            revert IRegistry.DeviceTaken(said.device, provider, last);
        }
        if (provider == said.provider && until <= last) revert IRegistry.StatementStale(said.issuedAt);
        (binding.provider, binding.until) = (said.provider, until);
    }

    /// Free at once. A statement that has not run out may bind it again: it was true when it was issued.
    function release(Book storage book, bytes32 key) internal {
        (book.bindings[key].provider, book.bindings[key].until) = (address(0), 0);
    }

    /// Whose it was; 0 when nobody's, or bound by a statement that is newer than the revocation.
    function revoke(Book storage book, bytes32 key, uint64 issuedAt, uint64 deviceSeconds)
        internal
        returns (address provider)
    {
        Binding storage binding = book.bindings[key];
        if (issuedAt > block.timestamp || issuedAt <= binding.revokedAt) revert IRegistry.StatementStale(issuedAt);
        binding.revokedAt = issuedAt;
        if (binding.until > issuedAt + deviceSeconds) return address(0);
        provider = binding.provider;
        release(book, key);
    }

    function ownerOf(Book storage book, bytes32 key) internal view returns (address provider, uint64 until) {
        Binding storage binding = book.bindings[key];
        if (binding.until > block.timestamp) (provider, until) = (binding.provider, binding.until);
    }

    function keyOf(address electorate, bytes32 schema, DeviceId device) internal pure returns (bytes32) {
        return keccak256(abi.encode(electorate, schema, device));
    }
}
