// Calls to the kernel: those that reach the network, other programs, other processes or the machine itself
// are refused. A list of what is refused, not of what is allowed: a GPU's driver calls what it likes, and
// changes.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "sandbox.hpp"

namespace assay {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArch = 0;
#endif

constexpr uint32_t kX32 = 0x40000000;  // a second table of the same calls on x86-64
constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t refuse(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }
// Its low half.
constexpr uint32_t argument(unsigned i) { return static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * i); }

constexpr long kRefused[] = {
    // other programs and processes
    SYS_execve, SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_kill, SYS_tkill,
    SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
    434 /* pidfd_open */, 438 /* pidfd_getfd */, 424 /* pidfd_send_signal */, 440 /* process_madvise */,
    // the machine
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, 428, 429, 430, 431, 432, 433 /* the newer mounts */,
    442 /* mount_setattr */, SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_kexec_load,
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_syslog,
    SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_vhangup,
    SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_fanotify_init, SYS_personality,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#if defined(__x86_64__)
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
};
constexpr long kNotThere[] = {
    425, 426, 427,  // io_uring: it does what it is asked past every filter
    435,  // clone3: its flags lie in memory, where a filter cannot look; libraries fall back on clone
};

class Filter {
 public:
  void load(uint32_t at) { add(BPF_LD | BPF_W | BPF_ABS, at); }
  void say(uint32_t result) { add(BPF_RET | BPF_K, result); }
  // The next `skip` instructions only where the loaded word is (not) as said.
  void unless_equal(uint32_t value, uint8_t skip) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip); }
  void if_equal(uint32_t value, uint8_t skip) { add(BPF_JMP | BPF_JEQ | BPF_K, value, skip, 0); }
  void if_any(uint32_t bits, uint8_t skip) { add(BPF_JMP | BPF_JSET | BPF_K, bits, skip, 0); }
  void if_below(uint32_t value, uint8_t skip) { add(BPF_JMP | BPF_JGE | BPF_K, value, 0, skip); }
  bool hold() {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  void add(int what, uint32_t value, uint8_t yes = 0, uint8_t no = 0) { code_.push_back({static_cast<uint16_t>(what), yes, no, value}); }
  std::vector<sock_filter> code_;
};

}  // namespace

bool filter_calls(bool with_gpus) {
  if (kArch == 0) return false;
  Filter filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.if_equal(kArch, 1);
  filter.say(refuse(EPERM));  // calls of another architecture have other numbers
  filter.load(offsetof(seccomp_data, nr));
  filter.if_below(kX32, 1);
  filter.say(refuse(EPERM));
  for (const long call : kRefused) {
    filter.unless_equal(static_cast<uint32_t>(call), 1);
    filter.say(refuse(EPERM));
  }
  for (const long call : kNotThere) {
    filter.unless_equal(static_cast<uint32_t>(call), 1);
    filter.say(refuse(ENOSYS));
  }
  // Nobody is talked to. CUDA makes a socket of its own, by which other processes of its user could share
  // memory.
  filter.unless_equal(SYS_connect, 1);
  filter.say(refuse(ECONNREFUSED));
  filter.unless_equal(SYS_socket, with_gpus ? 4 : 1);
  if (with_gpus) {
    filter.load(argument(0));
    filter.unless_equal(AF_UNIX, 1);
    filter.say(kAllow);
  }
  filter.say(refuse(EAFNOSUPPORT));
  // Threads, no processes.
  filter.unless_equal(SYS_clone, 4);
  filter.load(argument(0));
  filter.if_any(CLONE_THREAD, 1);
  filter.say(refuse(EPERM));
  filter.say(kAllow);
  // Signals to itself.
  filter.unless_equal(SYS_tgkill, 4);
  filter.load(argument(0));
  filter.if_equal(static_cast<uint32_t>(getpid()), 1);
  filter.say(refuse(EPERM));
  filter.say(kAllow);
  // Keys typed into somebody's terminal.
  filter.unless_equal(SYS_ioctl, 4);
  filter.load(argument(1));
  filter.if_equal(TIOCSTI, 1);
  filter.unless_equal(0x541C /* TIOCLINUX */, 1);
  filter.say(refuse(EPERM));
  filter.say(kAllow);
  return filter.hold();
}

}  // namespace assay
