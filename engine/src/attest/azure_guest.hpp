// Azure's confidential VMs have no kernel door to their CPU. Microsoft's paravisor keeps the hardware's
// report in a virtual TPM, with the name of that TPM's key in it; the TPM signs what it is asked to. The
// chip's certificate comes from the metadata service. Bytes are fetched and put into one JSON text, as
// src/verify/attestation/azure reads it; none is judged.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace assay {

constexpr const char* kTpm = "/dev/tpmrm0";

struct AzureEvidence {
  std::vector<uint8_t> json, chain;
  std::string no_certificate;  // why the chip's is not in it; empty: it is
};

// What is wrong, or nothing. `toy`: a folder with sockets that play the device (`tpm`) and the service
// (`metadata`); empty: the real ones. `data`: 64 bytes. A virtual TPM takes 50 at most, so it signs the first
// 16 and SHA-256 of all.
std::string ask_azure(const std::string& toy, const uint8_t* data, AzureEvidence& out);

}  // namespace assay
