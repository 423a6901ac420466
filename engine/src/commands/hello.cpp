// HELLO: what this host says of itself, as JSON. Claims only; nothing here is proof. FRAMES.md, CLAIM.
#include <sys/utsname.h>

#include "commands.hpp"
#include "cpu/host_info.hpp"

namespace assay {

namespace {

constexpr size_t kMaxTextBytes = 160;  // of one string; 80 devices then stay below 64 KiB

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : clean_text(text, kMaxTextBytes)) {  // no control characters are left
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out + "\"";
}

// Numbers must survive a reader that knows doubles only.
std::string number(uint64_t v) { return std::to_string(std::min<uint64_t>(v, (uint64_t{1} << 53) - 1)); }

// Fields in the order given, each with its value as JSON.
std::string json_object(std::initializer_list<std::pair<const char*, std::string>> fields) {
  std::string out = "{";
  for (const auto& [name, value] : fields) {
    if (out.size() > 1) out += ',';
    out.append("\"").append(name).append("\":").append(value);
  }
  return out + "}";
}

template <typename Items, typename ToJson>
std::string json_array(const Items& items, ToJson to_json) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += to_json(item);
  }
  return out + "]";
}

std::string device_json(const char* kind, const DeviceClaim& c) {
  return json_object({
      {"kind", json_quoted(kind)},
      {"name", json_quoted(c.name)},
      {"uuid", json_quoted(c.uuid)},
      {"memoryBytes", number(c.memory_bytes)},
      {"freeBytes", number(c.free_bytes)},
      {"units", number(c.units)},
      {"clockMHz", number(c.clock_mhz)},
      {"compute", json_quoted(c.compute)},
      {"pcieGen", number(c.pcie_gen)},
      {"pcieWidth", number(c.pcie_width)},
      {"powerLimitW", number(c.power_limit_w)},
      {"powerDefaultW", number(c.power_default_w)},
      {"temperatureC", number(c.temperature_c)},
      {"precisions", json_array(c.precisions, [](Precision p) { return json_quoted(kPrecisionNames[static_cast<size_t>(p)]); })},
  });
}

std::string other_card_json(const OtherCard& c) {
  return json_object({{"pciId", json_quoted(c.pci_id)}, {"name", json_quoted(c.name)}, {"count", number(c.count)}});
}

std::string claim_json(const Server& server, const std::vector<DeviceClaim>& devices) {
  const DriverClaim& claim = server.driver();
  utsname os{};
  uname(&os);
  const HostInfo host = read_host_info();
  std::string driver = "null";
  if (!claim.driver_version.empty())
    driver = json_object({{"version", json_quoted(claim.driver_version)}, {"cuda", json_quoted(claim.cuda_version)}});
  uint32_t index = 0;
  // The last two fields are there only where they have something to say.
  std::string json = json_object({
      {"engine", json_object({{"version", json_quoted(ASSAY_VERSION)}, {"arch", json_quoted(os.machine)}, {"cuda", claim.is_built_in ? "true" : "false"}})},
      {"host", json_object({{"os", json_quoted(std::string(os.sysname) + " " + os.release)},
                            {"cpu", json_quoted(host.cpu_name)},
                            {"cores", number(host.usable_cores)},
                            {"ramBytes", number(host.ram_bytes)},
                            {"ramFreeBytes", number(host.ram_free_bytes)}})},
      {"driver", driver},
      {"why", json_quoted(claim.why_none)},
      {"devices", json_array(devices, [&](const DeviceClaim& c) { return device_json(kind_name(server.kind(index++)), c); })},
  });
  json.pop_back();
  if (!claim.other_cards.empty()) json += ",\"unsupported\":" + json_array(claim.other_cards, other_card_json);
  if (!host.hidden.empty()) json += ",\"hidden\":" + json_array(host.hidden, json_quoted);
  return json + "}";
}

// Each worker asks its own device; the last one to answer writes the claim.
struct Gathering {
  std::mutex mutex;
  std::vector<DeviceClaim> claims;
  size_t missing = 0;
};

}  // namespace

void hello_command(Server& server, uint32_t id, const HelloRequest& asked) {
  if (asked.version != kProtocolVersion)
    throw EngineError(ErrorCode::version, "this engine speaks protocol version " + std::to_string(kProtocolVersion));
  if (server.device_count() == 0) throw EngineError(ErrorCode::no_device, "there is no device");
  auto gathering = std::make_shared<Gathering>();
  gathering->claims.resize(server.device_count());
  gathering->missing = server.device_count();
  const auto run = [&server, gathering](Device* device, uint32_t index, Request& r) -> std::optional<Final> {
    DeviceClaim claim;
    try {
      if (!r.stop) claim = device->claim();
    } catch (const std::exception& e) {
      // A device that fails to describe itself stays on the list, with nothing it can do.
      claim = DeviceClaim{};
      claim.name = std::string("failed: ") + e.what();
    }
    const std::lock_guard lock(gathering->mutex);
    gathering->claims[index] = std::move(claim);
    if (--gathering->missing > 0) return std::nullopt;
    if (r.stop) return done(0, true);
    const ClaimReply reply{claim_json(server, gathering->claims)};
    if (reply.json.size() > kMaxClaimBytes) throw EngineError(ErrorCode::device_failed, "the claim is too long");
    return final_of(reply);
  };
  auto request = std::make_shared<Request>(id, run);
  request->leaves_queue = false;
  server.submit_to_all(request);
}

}  // namespace assay
