// What this program may do to its host, taken away at its start: a validator's bytes are hostile, and a
// mistake of ours in reading them must not become a way in. Applied by the program itself, because it also
// runs where nothing of ours but this file is (over SSH). Where the kernel or the container cannot do a part
// of it, that part is left out and named, and the rest holds. Not here: what a validator may ask for
// (server/), the agent's limits.
#pragma once
#include <string>
#include <vector>

namespace assay {

struct Sandbox {
  unsigned user = 0;       // whom it runs as now
  bool no_rights = false;  // no capability, and none to be had by starting a program
  int landlock = 0;        // the kernel's version of it; 0: files are not confined
  bool seccomp = false;    // no network, no programs, no other processes
  std::string missing;     // what is left out, in words; empty when nothing is
};

// Before the first thread: threads that are there already would stay as they are. From then on it may read
// libraries, /proc and /sys, use the GPUs' device nodes, and open nothing else. Files that are open stay
// usable. `store`: a folder that stays its own to read and write, -1 for none. As root it becomes that
// folder's owner, and of a folder of root's it makes one first.
Sandbox enter_sandbox(int store = -1);

// Tries what must not work and prints a line of JSON for each part: for tests and `assay doctor`.
int print_sandbox_check(const Sandbox& sandbox);

// ---- parts; each does without where it cannot be had
int confine_files(int store);       // Landlock's version, 0 without
bool filter_calls(bool with_gpus);

// Device nodes of NVIDIA's driver, by name.
std::vector<std::string> gpu_nodes();

}  // namespace assay
