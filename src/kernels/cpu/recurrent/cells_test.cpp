#include "kernels/cpu/recurrent/cells.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/test_values.h"

namespace hone::kernels {
namespace {

// Not inlined: see normal_values.
[[gnu::noinline]] std::vector<float> not_numbers(std::size_t n) { return std::vector<float>(n, NAN); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(LstmCell, MatchesTheFormulas) {
  for (int64_t hidden : {1, 5, 16, 37}) {
    for (bool peepholes : {false, true}) {
      for (bool coupled : {false, true}) {
        const int64_t batch = 3, n = hidden, stride = 4 * n + 2;
        const double clip = peepholes ? 1.5 : 1e9;
        const std::vector<float> gates = normal_values(batch * stride, 0, 2, 1),
                                 before = normal_values(batch * n, 0, 2, 2),
                                 peephole = normal_values(3 * n, 0, 2, 3);
        std::vector<float> c = not_numbers(before.size()), h = not_numbers(before.size());
        LstmCellDesc desc{.batch = batch, .hidden = n, .gate_stride = stride, .input_forget = coupled};
        if (peepholes) desc.clip = 1.5f;
        LstmCell::create(desc)->execute(gates.data(), peepholes ? peephole.data() : nullptr, before.data(),
                                        c.data(), h.data());
        for (int64_t b = 0; b < batch; ++b) {
          for (int64_t j = 0; j < n; ++j) {
            const auto gate = [&](int64_t k) {
              return static_cast<double>(gates[static_cast<std::size_t>(b * stride + k * n + j)]);
            };
            const auto peep = [&](int64_t k) {
              return peepholes ? static_cast<double>(peephole[static_cast<std::size_t>(k * n + j)]) : 0;
            };
            const auto limit = [&](double x) { return std::clamp(x, -clip, clip); };
            const auto at = static_cast<std::size_t>(b * n + j);
            const double past = static_cast<double>(before[at]);
            const double i = sigmoid(limit(gate(0) + peep(0) * past));
            const double f = coupled ? 1 - i : sigmoid(limit(gate(2) + peep(2) * past));
            const double cell = f * past + i * std::tanh(limit(gate(3)));
            const double o = sigmoid(limit(gate(1) + peep(1) * cell));
            EXPECT_NEAR(static_cast<double>(c[at]), cell, 2e-6);
            EXPECT_NEAR(static_cast<double>(h[at]), o * std::tanh(cell), 2e-6);
          }
        }
      }
    }
  }
}

TEST(GruCell, MatchesTheFormulasResetBeforeAndAfterTheProduct) {
  const int64_t batch = 2, n = 21;
  const std::vector<float> x = normal_values(batch * 3 * n, 0, 2, 1),
                           hg = normal_values(batch * 3 * n, 0, 2, 2),
                           before = normal_values(batch * n, 0, 2, 3),
                           product = normal_values(batch * n, 0, 2, 4);
  std::vector<float> h = not_numbers(before.size()), z = not_numbers(before.size()),
                     rh = not_numbers(before.size()), second = not_numbers(before.size());
  const Result<GruCell> cell = GruCell::create({.batch = batch, .hidden = n});
  ASSERT_TRUE(cell.ok());
  cell->execute(x.data(), hg.data(), before.data(), h.data());
  cell->reset(x.data(), hg.data(), before.data(), z.data(), rh.data());
  cell->finish(x.data(), product.data(), z.data(), before.data(), second.data());
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t j = 0; j < n; ++j) {
      const auto gate = [&](const std::vector<float>& g, int64_t k) {
        return static_cast<double>(g[static_cast<std::size_t>((b * 3 + k) * n + j)]);
      };
      const auto at = static_cast<std::size_t>(b * n + j);
      const double past = static_cast<double>(before[at]);
      const double update = sigmoid(gate(x, 0) + gate(hg, 0)), reset = sigmoid(gate(x, 1) + gate(hg, 1));
      const double after = std::tanh(gate(x, 2) + reset * gate(hg, 2));
      EXPECT_NEAR(static_cast<double>(h[at]), (1 - update) * after + update * past, 3e-6);
      EXPECT_NEAR(static_cast<double>(rh[at]), reset * past, 3e-6);
      const double candidate = std::tanh(gate(x, 2) + static_cast<double>(product[at]));
      EXPECT_NEAR(static_cast<double>(second[at]), (1 - update) * candidate + update * past, 3e-6);
    }
  }
}

}  // namespace
}  // namespace hone::kernels
