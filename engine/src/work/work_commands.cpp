// See work_commands.hpp.
#include "work/work_commands.hpp"

#include <cstring>

#include "server/session_request.hpp"
#include "work/work_session.hpp"

namespace assay {

namespace {

using work::Root;
using work::WorkSession;

// A program of 1 MiB takes some 30 MiB of the host while its session lives.
constexpr int kMaxWorkSessions = 16;
std::atomic<int> work_sessions{0};

// A session counts from before it is made until it is freed.
struct CountedSession final : SessionContent {
  CountedSession() {
    if (++work_sessions > kMaxWorkSessions) {
      --work_sessions;
      throw EngineError(ErrorCode::busy, std::to_string(kMaxWorkSessions) + " programs at a time are the most");
    }
  }
  ~CountedSession() override {
    session.reset();
    --work_sessions;
  }
  std::optional<WorkSession> session;
};

Hash hash_of(const Root& root) {
  Hash hash;
  memcpy(hash.b, root.data(), sizeof hash.b);
  return hash;
}
Root root_of(const Hash& hash) {
  Root root;
  memcpy(root.data(), hash.b, root.size());
  return root;
}

using Act = std::function<Final(WorkSession& session, Request& request)>;

void submit_work(Server& server, uint32_t id, uint32_t session, Act act) {
  submit_on_session<CountedSession>(server, id, session, "PROGRAM", [act = std::move(act)](CountedSession& counted, Request& request) {
    return act(*counted.session, request);
  });
}

}  // namespace

void program_command(Server& server, uint32_t id, const ProgramRequest& asked, const WorkSettings& settings) {
  if (!settings.is_allowed) throw EngineError(ErrorCode::unsupported, "this engine runs no programs: it was started without --work");
  const auto run = [&server, &settings, asked](Device* device, uint32_t, Request& request) -> std::optional<Final> {
    if (request.stop) return done(0, true);
    work::WorkKernels* kernels = device->work_kernels();
    if (kernels == nullptr) throw EngineError(ErrorCode::unsupported, "this device runs no programs");
    auto content = std::make_unique<CountedSession>();
    const WorkSession& made = content->session.emplace(*kernels, asked.program, asked.seed.b, settings.store.get());
    const PlanReply plan{made.needs().peak_bytes, made.needs().state_bytes, static_cast<uint32_t>(made.program().init.size()),
                         static_cast<uint32_t>(made.program().step.size())};
    server.session_stands(*request.session, std::move(content));
    return final_of(plan);
  };
  server.submit(std::make_shared<Request>(id, run, SessionUse::makes), asked.session, asked.device);
}

void tensor_command(Server& server, uint32_t id, const TensorRequest& asked) {
  submit_work(server, id, asked.session, [asked](WorkSession& session, Request&) {
    session.write(asked.tensor, asked.offset, asked.bytes);
    return done(0, false);
  });
}

void seed_command(Server& server, uint32_t id, const SeedRequest& asked) {
  submit_work(server, id, asked.session, [asked](WorkSession& session, Request&) {
    session.reseed(asked.seed.b);
    return done(0, false);
  });
}

void hash_command(Server& server, uint32_t id, const HashRequest& asked) {
  submit_work(server, id, asked.session, [&server, asked](WorkSession& session, Request& request) {
    server.send(request.id, RootReply{asked.tensor, hash_of(session.root(asked.tensor))});
    return done(1, false);
  });
}

void load_command(Server& server, uint32_t id, const LoadRequest& asked) {
  submit_work(server, id, asked.session, [asked](WorkSession& session, Request&) {
    session.load(asked.tensor, root_of(asked.root));
    return done(0, false);
  });
}

void run_segments_command(Server& server, uint32_t id, const RunRequest& asked) {
  submit_work(server, id, asked.session, [&server, asked](WorkSession& session, Request& request) {
    const auto on_metric = [&](uint32_t segment, uint32_t step, uint32_t tensor, std::vector<uint8_t> bytes) {
      server.send(request.id, MetricReply{segment, step, static_cast<uint16_t>(tensor), std::move(bytes)});
    };
    const auto on_segment = [&](uint32_t segment, bool saved, const std::vector<Root>& roots) {
      SegmentReply reply{segment, saved, {}};
      for (const Root& root : roots) reply.roots.insert(reply.roots.end(), root.begin(), root.end());
      server.send(request.id, reply);
    };
    const uint32_t ran = session.run(asked.first, asked.count, asked.save_every, request.stop, on_metric, on_segment);
    return done(ran, ran < asked.count);
  });
}

void save_command(Server& server, uint32_t id, const SaveRequest& asked) {
  submit_work(server, id, asked.session, [&server](WorkSession& session, Request& request) {
    const std::vector<Root> roots = session.save();
    for (size_t i = 0; i < roots.size(); ++i) server.send(request.id, RootReply{session.kept()[i], hash_of(roots[i])});
    return done(static_cast<uint32_t>(roots.size()), false);
  });
}

void fetch_command(Server& server, uint32_t id, const FetchRequest& asked) {
  submit_work(server, id, asked.session, [&server, asked](WorkSession& session, Request& request) {
    uint32_t pieces = 0;
    session.fetch(asked.tensor, asked.offset, asked.length, [&](std::vector<uint8_t> piece) {
      throw_if(request.stop);
      server.send(request.id, BytesReply{std::move(piece)});
      ++pieces;
    });
    return done(pieces, false);
  });
}

void evaluate_command(Server& server, uint32_t id, const EvaluateRequest& asked) {
  constexpr size_t kScalarBytes = 32;
  if (asked.point.size() % kScalarBytes != 0 || asked.reading > static_cast<uint16_t>(zk::Reading::classes))
    throw EngineError(ErrorCode::bad_request, "no such reading, or a point that is no list of scalars");
  submit_work(server, id, asked.session, [&server, asked](WorkSession& session, Request& request) {
    std::vector<Fr> point(asked.point.size() / kScalarBytes);
    for (size_t i = 0; i < point.size(); ++i)
      if (!Fr::from_bytes(asked.point.data() + i * kScalarBytes, point[i])) throw EngineError(ErrorCode::bad_request, "a scalar is not below the order");
    zk::Evaluation what;
    what.reading = static_cast<zk::Reading>(asked.reading);
    what.columns = asked.columns;
    what.shift = asked.shift, what.add = asked.add, what.most = asked.most;
    what.point = point;
    std::vector<uint8_t> value(kScalarBytes);
    session.evaluate(asked.tensor, what, request.stop).to_bytes(value.data());
    server.send(request.id, BytesReply{std::move(value)});
    return done(1, false);
  });
}

void trace_command(Server& server, uint32_t id, const TraceRequest& asked) {
  submit_work(server, id, asked.session, [&server, asked](WorkSession& session, Request& request) {
    const auto ops = static_cast<uint32_t>(session.program().ops(asked.segment == 0 ? work::Phase::init : work::Phase::step).size());
    uint32_t sent = 0;
    session.trace(asked.segment, request.stop, [&](uint32_t step, uint32_t op, const Root& output) {
      server.send(request.id, RootReply{step * ops + op, hash_of(output)});
      ++sent;
    });
    return done(sent, false);
  });
}

void ask_command(Server& server, uint32_t id, const AskRequest& asked) {
  if (asked.places.empty() || asked.places.size() > kMaxPlaces) throw EngineError(ErrorCode::bad_request, "count must be 1 to 4096");
  submit_work(server, id, asked.session, [&server, asked](WorkSession& session, Request& request) {
    std::vector<WorkSession::Asked> places;
    for (const Place& place : asked.places) places.push_back({place.round, place.index});
    uint32_t sent = 0;
    session.ask(asked.segment, asked.step, asked.op, places, request.stop, [&](const WorkSession::Asked& place, work::LeafOpening opening) {
      OpeningReply reply{place.of, place.leaf, std::move(opening.bytes), {}};
      for (const Root& node : opening.path) reply.path.push_back(hash_of(node));
      server.send(request.id, reply);
      ++sent;
    });
    return done(sent, false);
  });
}

}  // namespace assay
