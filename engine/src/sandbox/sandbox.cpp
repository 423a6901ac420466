// See sandbox.hpp. The order matters: rules name paths while they can be reached, the user goes before the
// filter that would refuse it, and nothing of it can be undone.
#include "sandbox.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace assay {

namespace {

// systemd's range for users that exist while a program runs. By its process id, so that two engines are two
// users.
constexpr unsigned kFirstUser = 61184, kUsers = 4336, kNobody = 65534;

bool is_known_user(unsigned id) {
  FILE* file = fopen("/etc/passwd", "re");
  bool known = false;
  if (file == nullptr) return false;
  while (const passwd* entry = fgetpwent(file)) known |= entry->pw_uid == id || entry->pw_gid == id;
  fclose(file);
  return known;
}

// The driver's nodes that are for root and a group (Debian's video) are used as a member of it. False: for
// root alone.
bool node_groups(std::vector<gid_t>& groups) {
  for (const std::string& node : gpu_nodes()) {
    struct stat entry {};
    if (stat(node.c_str(), &entry) != 0 || !S_ISCHR(entry.st_mode) || (entry.st_mode & 0006) == 0006) continue;
    if ((entry.st_mode & 0060) == 0060 && entry.st_gid != 0) groups.push_back(entry.st_gid);
    else if (node == "/dev/nvidiactl" || node == "/dev/nvidia0" || node == "/dev/nvidia-uvm") return false;
  }
  return true;
}

// NVIDIA's libraries make missing device nodes by a program that becomes root; from inside they no longer
// could.
void make_gpu_nodes() {
  constexpr const char* program = "/usr/bin/nvidia-modprobe";
  const bool are_there = access("/dev/nvidiactl", F_OK) == 0 && access("/dev/nvidia-uvm", F_OK) == 0;
  if (are_there || access(program, X_OK) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) dup2(nowhere, fd);
    execl(program, program, "-c", "0", "-u", nullptr);
    _exit(127);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}

// Whom to become, and with which groups.
struct User {
  unsigned id = kNobody;
  std::vector<gid_t> groups;
};

bool choose_user(User& user, int store, std::string& why) {
  if (!node_groups(user.groups)) {
    why = "the GPUs are for root alone";
    return false;
  }
  struct stat folder {};
  const bool has_folder = store >= 0 && fstat(store, &folder) == 0;
  if (has_folder && folder.st_uid != 0) {
    user.id = folder.st_uid;
    return true;
  }
  const unsigned start = static_cast<unsigned>(getpid()) % kUsers;
  for (unsigned i = 0; i < 16 && user.id == kNobody; ++i) {
    const unsigned candidate = kFirstUser + (start + i) % kUsers;
    if (!is_known_user(candidate)) user.id = candidate;
  }
  if (has_folder && fchown(store, user.id, user.id) != 0) {
    why = "the store's folder cannot be given away";
    return false;
  }
  return true;
}

bool become(const User& user, std::string& why) {
  const bool done = setgroups(user.groups.size(), user.groups.data()) == 0;
  // A container may know few users: one of them is nobody.
  for (const unsigned id : {user.id, kNobody})
    if (done && setresgid(id, id, id) == 0 && setresuid(id, id, id) == 0) {
      prctl(PR_SET_DUMPABLE, 1);  // /proc/self is its own again; nobody else has this user
      return true;
    }
  why = strerror(errno);
  return false;
}

bool drop_rights() {
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

}  // namespace

Sandbox enter_sandbox(int store) {
  Sandbox sandbox;
  make_gpu_nodes();
  const bool with_gpus = !gpu_nodes().empty(), is_root = geteuid() == 0;
  User user;
  std::string why;
  const bool may_change = is_root && choose_user(user, store, why);
  const bool no_way_back = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  for (int right = 0; prctl(PR_CAPBSET_READ, right) >= 0; ++right) prctl(PR_CAPBSET_DROP, right);
  const auto leave_out = [&](std::string_view what) { sandbox.missing.append(sandbox.missing.empty() ? "" : "; ").append(what); };
  sandbox.landlock = confine_files(store);
  if (is_root && !(may_change && become(user, why))) leave_out("it stays root: " + why);
  sandbox.user = geteuid();
  sandbox.no_rights = drop_rights() && no_way_back;
  sandbox.seccomp = filter_calls(with_gpus);
  if (!sandbox.no_rights) leave_out("its rights cannot be dropped");
  if (sandbox.landlock == 0) leave_out("files are not confined: this kernel has no Landlock");
  if (!sandbox.seccomp) leave_out("calls are not filtered: no seccomp here");
  return sandbox;
}

int print_sandbox_check(const Sandbox& sandbox) {
  const auto opens = [](const char* path, int flags) {
    const int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
  };
  const auto connects = [](int family) {
    const int fd = socket(family, SOCK_STREAM, 0);
    if (fd >= 0) close(fd);
    return fd >= 0;
  };
  // Where no child can be had, in this process: then it must come back.
  const pid_t child = fork();
  int ended = -1;
  if (child <= 0) execl("/bin/true", "/bin/true", nullptr);
  if (child == 0) _exit(127);
  if (child > 0) waitpid(child, &ended, 0);
  const auto word = [](bool yes) { return yes ? "true" : "false"; };
  printf("{\"user\":%u,\"noRights\":%s,\"landlock\":%d,\"seccomp\":%s,\"missing\":\"%s\",", sandbox.user, word(sandbox.no_rights),
         sandbox.landlock, word(sandbox.seccomp), sandbox.missing.c_str());
  printf("\"reads\":{\"/etc/passwd\":%s,\"/etc/shadow\":%s,\"/\":%s,\"/proc/meminfo\":%s,\"/usr\":%s},", word(opens("/etc/passwd", O_RDONLY)),
         word(opens("/etc/shadow", O_RDONLY)), word(opens("/", O_RDONLY)), word(opens("/proc/meminfo", O_RDONLY)),
         word(opens("/usr", O_RDONLY)));
  printf("\"writes\":{\"/tmp\":%s,\".\":%s},", word(opens("/tmp", O_TMPFILE | O_RDWR)), word(opens(".", O_TMPFILE | O_RDWR)));
  printf("\"sockets\":{\"inet\":%s,\"inet6\":%s,\"netlink\":%s},", word(connects(AF_INET)), word(connects(AF_INET6)), word(connects(AF_NETLINK)));
  printf("\"signals\":%s,\"forks\":%s,\"runs\":%s}\n", word(kill(getppid(), 0) == 0), word(child > 0), word(ended == 0));
  return 0;
}

}  // namespace assay
