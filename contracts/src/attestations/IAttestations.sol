// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Quotes of Intel TDX guests, judged by the chain itself: docs/attestation.md, "On a chain". Nobody here
/// decides but Intel: certificates, lists of revoked ones, TCB info and the quoting enclave's identity count
/// by Intel's signatures, and anyone may bring them.
interface IAttestations {
    /// Something that was signed on P-256 with SHA-256. `s` is the lower one of the two that are as good.
    struct Signed {
        bytes body;
        bytes32 r;
        bytes32 s;
    }

    struct Key {
        bytes32 x;
        bytes32 y;
    }

    struct Certificate {
        uint160 serial;
        uint256 from;
        uint256 until;
        Key key;
        bool isCa;
        /// Bits of key usage; all of them without that extension.
        uint8 usage;
        /// Keccak of the common name.
        bytes32 name;
        /// Whether it is a PCK certificate, and what that says of its platform.
        bool isPlatform;
        bytes6 fmspc;
        bytes2 pceId;
        bytes16 components;
        uint256 pceSvn;
    }

    /// Of an enclave or a TDX module, newest first.
    struct SvnLevel {
        uint16 svn;
        bool isAccepted;
    }

    struct Module {
        /// 0: the module before versions, which has no levels of its own.
        uint8 version;
        /// Keccak of its signer's 48 bytes.
        bytes32 signer;
        bytes8 attributes;
        bytes8 mask;
        SvnLevel[] levels;
    }

    /// Of a platform, newest first: it has the first one whose every number it reaches.
    struct Level {
        bytes16 sgx;
        bytes16 tdx;
        uint16 pceSvn;
        bool isAccepted;
    }

    /// What a text of Intel's says, as `inform` reads it; the chain keeps its hash, the event has it whole.
    struct TcbInfo {
        bytes6 fmspc;
        bytes2 pceId;
        uint32 evaluation;
        uint64 from;
        uint64 until;
        Module[] modules;
        Level[] levels;
    }

    struct QeIdentity {
        uint32 evaluation;
        uint64 from;
        uint64 until;
        bytes4 misc;
        bytes4 miscMask;
        bytes16 attributes;
        bytes16 mask;
        bytes32 signer;
        uint16 product;
        SvnLevel[] levels;
    }

    struct Registration {
        /// Number of the authority that signed the PCK certificate.
        uint16 authority;
        /// Body of the PCK certificate, and its authority's signature.
        Signed pck;
        /// Report of the quoting enclave, and the PCK key's signature.
        Signed qe;
        bytes qeAuth;
        /// The attestation key.
        Key key;
        /// Of the quotes that the key will sign: SVNs, and signer and attributes of the TDX module (56
        /// bytes).
        bytes16 teeTcbSvn;
        bytes seam;
        TcbInfo info;
        QeIdentity identity;
    }

    struct Registered {
        /// Zero: it is not registered.
        uint40 until;
        uint16 authority;
        uint160 serial;
    }

    struct Authority {
        Key key;
        uint160 serial;
        uint40 until;
        /// Else it signs texts.
        bool isIssuer;
        bool isRevoked;
        /// Of its newest list.
        uint40 listFrom;
        uint40 listUntil;
    }

    event AuthorityAdded(uint16 indexed authority, Key key, uint160 serial, uint40 until, bool isIssuer);
    event Listed(uint16 indexed authority, uint40 from, uint40 until, uint256 fresh);
    event CertificateRevoked(uint16 indexed authority, uint160 indexed serial);
    event Informed(bytes6 indexed fmspc, bytes2 indexed pceId, TcbInfo info);
    event Identified(QeIdentity identity);
    event KeyRegistered(bytes32 indexed id, uint16 indexed authority, uint160 indexed serial, uint40 until);
    event Attested(bytes32 indexed bind, bytes32 indexed guest, bytes32 indexed key, bytes32 set);

    /// @notice Thrown when a higher s is given: n − s is as good, and the one that counts.
    error SignatureHigh();
    /// @notice Thrown when the key did not sign this.
    error SignatureWrong();
    /// @notice Thrown when bytes are no certificate, list, report or quote of the kind that is due, or
    /// something follows.
    error FormWrong(uint256 place);
    /// @notice Thrown when a text is not one of Intel's of that kind.
    error TextWrong(uint256 place);
    /// @notice Thrown when a certificate's key may not do what it is shown for.
    error CertificateOther();
    /// @notice Thrown when something holds only from a later moment on.
    error NotYet(uint256 from);
    /// @notice Thrown when something held until then.
    error Ended(uint256 until);
    /// @notice Thrown when a newer one is known.
    error Older(uint256 from);
    error AuthorityUnknown(uint16 authority);
    error Revoked(uint16 authority, uint160 serial);
    /// @notice Thrown when TCB info or identity is not the one that Intel's text gave, or of another
    /// platform.
    error CollateralOther();
    /// @notice Thrown when the enclave is not Intel's, or vouches for another key.
    error QeWrong();
    /// @notice Thrown when no level fits.
    error TcbUnknown();
    /// @notice Thrown when the level that fits is not accepted.
    error TcbRefused();
    /// @notice Thrown when the key is not registered for quotes of such a TDX module.
    error KeyUnknown(bytes32 id);
    /// @notice Thrown when the key's registration has ended: register it again.
    error KeyEnded(uint256 until);
    /// @notice Thrown when the quote answers another question.
    error BindWrong(bytes32 found);
    /// @notice Thrown when the quote names no set of reports.
    error SetMissing();
    /// @notice Thrown when the quote is of another guest.
    error GuestOther(bytes32 found);
    /// @notice Thrown when the host can debug the guest.
    error GuestDebug();
    /// @notice Thrown when the guest can be migrated, has a service TD, or lets the host take its pages
    /// unseen.
    error GuestPolicy();
    /// @notice Thrown when this guest has answered.
    error AlreadyAttested(bytes32 set);

    /// Takes a certificate that the root signed: an issuer of PCK certificates, or the one who signs texts.
    function certify(Signed calldata certificate) external returns (uint16 authority);

    /// Takes a list of revoked certificates of an issuer; 0 is the root.
    function list(uint16 authority, Signed calldata crl) external;

    /// Takes Intel's TCB info of a platform.
    function inform(uint16 authority, Signed calldata text) external;

    /// Takes Intel's identity of the quoting enclave.
    function identify(uint16 authority, Signed calldata text) external;

    /// Cold: from the PCK certificate to the attestation key. It may sign until the first thing that it rests
    /// on ends.
    function register(Registration calldata entry) external returns (bytes32 id);

    /// Warm: a quote (header and body) of a registered key. Its report data is `bind` and the set of reports,
    /// which is kept.
    function attest(Signed calldata quote, Key calldata key, bytes32 bind, bytes32 guest) external returns (bytes32 set);

    /// What this guest answered; zero: nothing.
    function setOf(bytes32 bind, bytes32 guest) external view returns (bytes32);

    /// Whether it may sign now: `until` is zero when not.
    function keyOf(bytes32 id) external view returns (Registered memory);

    function authorityOf(uint16 authority) external view returns (Authority memory);

    /// The authority of this key; 0: none.
    function numberOf(Key calldata key) external view returns (uint16);

    function authorityCount() external view returns (uint16);

    function isRevoked(uint16 authority, uint160 serial) external view returns (bool);
}
