// Compute roofs: register micro-kernels, and the library's best matrix product.
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/roof/arithmetic.h"
#include "kernels/cpu/roof/gemm.h"
#include "lab/ceilings/measure.h"

namespace hone::lab::internal {
namespace {

using kernels::roof::ArithmeticProbe;
using kernels::roof::GemmProbe;

constexpr std::array kProducts = {DType::kF32, DType::kBF16, DType::kI8};  // the matrix products' dtypes
constexpr double kProductSeconds = 2e-3;  // long against starting a team, short against a time slice

std::string title(const ArithmeticProbe& probe) {
  return fmt::format("{} {}", dtype_name(probe.dtype), probe.method == "tiles" ? "tiles" : "arithmetic");
}

void measure_arithmetic(CeilingsRun& run, const ArithmeticProbe& probe, int threads) {
  // How many iterations make a repetition, by the CPU's time of one thread: right on a busy machine, too.
  constexpr int64_t kTrial = 20'000;
  double trial = 1;
  for (int i = 0; i < 3; ++i)
    trial = std::min(trial, time_team(1, [&](int) { probe.run(kTrial); }).cpu_seconds);
  const auto iterations = std::max<int64_t>(1000, static_cast<int64_t>(kProductSeconds / trial * kTrial));
  const auto once = [&] { return time_team(threads, [&](int) { probe.run(iterations); }); };
  const Samples samples = collect(run.budget(), once);
  const double work = probe.operations_per_iteration * static_cast<double>(iterations) * threads;
  run.account(samples, title(probe));
  run.result.roofs.compute.push_back({probe.dtype, probe.method, threads, rate_of(samples, work)});
}

// The best of several sizes: which one suits the library differs between CPUs.
Status measure_gemm(CeilingsRun& run, DType dtype, int threads) {
  const kernels::TeamSize team(threads);
  Rate best;
  const std::vector<int64_t> sizes = run.quick ? std::vector<int64_t>{768} : std::vector<int64_t>{768, 1152};
  for (int64_t n : sizes) {
    auto probe = GemmProbe::create(dtype, n);
    if (!probe.ok()) {
      if (threads == 1 && n == sizes[0]) run.result.notes.push_back(probe.error().message);
      return {};
    }
    Status status;
    const Samples samples = collect(run.budget(1.0 / static_cast<double>(sizes.size())),
                                    [&] { return time_call(threads, [&] { status = probe->run(); }); });
    HONE_CHECK(status);
    run.account(samples, fmt::format("{} matrix product", dtype_name(dtype)));
    const Rate rate = rate_of(samples, probe->operations());
    if (rate.median > best.median) best = rate;
  }
  run.result.roofs.compute.push_back({dtype, "gemm", threads, best});
  return {};
}

}  // namespace

int count_compute_rates(const CeilingsRun& run) {
  const auto probes = kernels::roof::arithmetic_probes();
  const auto wanted = [&](const ArithmeticProbe& probe) { return run.wants(probe.dtype); };
  const auto wanted_product = [&](DType dtype) { return run.wants(dtype); };
  return static_cast<int>(std::count_if(probes.begin(), probes.end(), wanted) +
                          std::count_if(kProducts.begin(), kProducts.end(), wanted_product));
}

Status measure_compute(CeilingsRun& run) {
  const auto probes = kernels::roof::arithmetic_probes();
  for (int threads : run.thread_counts) {
    for (const ArithmeticProbe& probe : probes) {
      if (!run.wants(probe.dtype)) continue;
      HONE_CHECK(run.progress(fmt::format("{}, {} threads", title(probe), threads)));
      measure_arithmetic(run, probe, threads);
    }
    for (DType dtype : kProducts) {
      if (!run.wants(dtype)) continue;
      HONE_CHECK(run.progress(fmt::format("{} matrix product, {} threads", dtype_name(dtype), threads)));
      HONE_CHECK(measure_gemm(run, dtype, threads));
    }
  }
  for (DType dtype : {DType::kBF16, DType::kI8}) {
    const auto has = [&](const ArithmeticProbe& probe) { return probe.dtype == dtype; };
    if (std::none_of(probes.begin(), probes.end(), has))
      run.result.notes.push_back(
          fmt::format("this CPU has no {} dot product that hone knows: its roof is the matrix "
                      "product's, or f32's",
                      dtype_name(dtype)));
  }
  return {};
}

}  // namespace hone::lab::internal
