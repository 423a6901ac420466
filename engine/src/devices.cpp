// See devices.hpp.
#include "devices.hpp"

#include <cstdio>
#include <exception>

namespace assay {

namespace {

constexpr int kBesideGpus = 5;
constexpr size_t kMaxDevices = 80;  // so that a claim stays below its limit; more GPUs are left out

template <typename Find>
void add_found(const char* what, Find find) {
  try {
    find();
  } catch (const std::exception& e) {
    fprintf(stderr, "assay-engine: no %s: %s\n", what, e.what());
  }
}

}  // namespace

FoundDevices find_devices(const DeviceOptions& options) {
  FoundDevices found;
  try {
    found = find_cuda_devices();
  } catch (const std::exception& e) {
    found.driver.why_none = e.what();
  }
  found.driver.other_cards = options.other_cards;
  std::vector<std::unique_ptr<Device>>& devices = found.devices;
  if (devices.size() > kMaxDevices - options.cpu_devices - 1) devices.resize(kMaxDevices - options.cpu_devices - 1);
  // GPUs are probed at the same time as the CPU, and one waits whenever the thread that feeds it does.
  const int nice = devices.empty() ? 0 : kBesideGpus;
  add_found("cpu device", [&] {
    for (auto& device : make_cpu_devices(options.threads, options.cpu_devices, nullptr, nice)) devices.push_back(std::move(device));
  });
  if (options.disk) add_found("disk", [&] { devices.push_back(make_disk(options.disk)); });
  return found;
}

}  // namespace assay
