// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;



/// Which provider a device identity belongs to. A binding runs out unless it is attested again, so that a
/// card that was sold, or one that somebody else's validator bound in bad faith, becomes free by itself.
library DeviceBook {
    struct Binding {
        address provider;
        uint64 until;
    }

    struct Book {
        // INVARIANT: one provider a device at a time: an unexpired binding is only ever replaced by its own
        // provider's.
        mapping(bytes32 => Binding) bindings;
    }

    /// @notice Thrown when the caller does not have the device.
    error NotDeviceOwner(bytes32 device, address caller);
    /// @notice Thrown when another provider has the device.
    error DeviceTaken(bytes32 device, address provider, uint64 until);
    /// @notice Thrown when the attestation is of the future, has run out, or is not newer than the binding.
    error AttestationStale(uint64 issuedAt);

    /// `issuedAt` is the attestation's: an old one cannot be replayed to stretch a binding.
    function bind(Book storage book, bytes32 device, address provider, uint64 issuedAt, uint64 deviceSeconds)
        internal
        returns (uint64 until)
    {
        until = issuedAt + deviceSeconds;
        if (issuedAt > block.timestamp || until <= block.timestamp) revert AttestationStale(issuedAt);
        Binding storage binding = book.bindings[device];
        if (binding.until > block.timestamp && binding.provider != provider) {
            revert DeviceTaken(device, binding.provider, binding.until);
        }
        if (binding.provider == provider && until <= binding.until) revert AttestationStale(issuedAt);
        binding.provider = provider;
        binding.until = until;
    }

    /// Free at once. An attestation that has not run out may bind it again: it was true when it was issued.
    function release(Book storage book, bytes32 device, address caller) internal {
        Binding storage binding = book.bindings[device];
        if (binding.provider != caller) revert NotDeviceOwner(device, caller);
        delete book.bindings[device];
    }

    function ownerOf(Book storage book, bytes32 device) internal view returns (address provider, uint64 until) {
        Binding storage binding = book.bindings[device];
        if (binding.until > block.timestamp) (provider, until) = (binding.provider, binding.until);
    }
}
