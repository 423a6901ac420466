// Which of the compiled instruction sets this CPU runs.
#include "kernels.hpp"

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace assay_kernels {

size_t usable_kernels(const Kernels* out[kMaxSets]) {
  size_t count = 0;
  out[count++] = &kernels_base;
#if defined(__aarch64__)
  if (getauxval(AT_HWCAP) & (1ul << 20)) out[count++] = &kernels_dotprod;  // HWCAP_ASIMDDP
#elif defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
  if (v3) out[count++] = &kernels_v3;
  if (v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
    out[count++] = &kernels_v4;
#endif
  return count;
}

const Kernels& best_kernels() {
  const Kernels* sets[kMaxSets];
  return *sets[usable_kernels(sets) - 1];
}

}  // namespace assay_kernels
