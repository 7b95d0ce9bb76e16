// Matrix products on the CPU against the reference: forms, constant and computed factors, product_epilogues.
#include "tests/backends/compare.h"
#include <gtest/gtest.h>

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

struct Shapes {
  Shape a, b;
};

const std::vector<Shapes>& products() {
  static const std::vector<Shapes> all = {
      {{5, 7}, {7, 3}},          {{1, 33}, {33, 65}},          {{17, 1}, {1, 9}},
      {{64, 64}, {64, 64}},      {{2, 5, 7}, {7, 3}},          {{2, 5, 7}, {2, 7, 3}},
      {{2, 5, 7}, {1, 7, 3}},    {{1, 5, 7}, {2, 7, 3}},       {{5, 7}, {4, 7, 3}},
      {{2, 1, 5, 7}, {3, 7, 4}}, {{2, 3, 5, 7}, {2, 3, 7, 4}}, {{3, 1, 1, 7}, {1, 2, 7, 1}}};
  return all;
}

TEST(MatMul, EveryFormAgrees) {
  for (const Shapes& s : products()) {
    SCOPED_TRACE(shape_text(s.a) + " x " + shape_text(s.b));
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("MatMul", {f32_input(b, "a", s.a), f32_input(b, "b", s.b)})};
    });
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("MatMul", {f32_input(b, "a", s.a), f32_constant(b, s.b)})};
    });
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("MatMul", {f32_constant(b, s.a), f32_input(b, "b", s.b)})};
    });
  }
}

TEST(MatMul, VectorsAgree) {
  for (const Shapes& s :
       {Shapes{{7}, {7, 3}}, Shapes{{5, 7}, {7}}, Shapes{{7}, {7}}, Shapes{{7}, {2, 7, 3}}}) {
    SCOPED_TRACE(shape_text(s.a) + " x " + shape_text(s.b));
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("MatMul", {f32_input(b, "a", s.a), f32_input(b, "b", s.b)})};
    });
    compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
      return {b.add("MatMul", {f32_input(b, "a", s.a), f32_constant(b, s.b)})};
    });
  }
}

TEST(MatMul, ASquareFactorReadTwiceAgrees) {
  compare_all_kernels([&](GraphBuilder& b) -> std::vector<ValueId> {
    const ValueId x = f32_input(b, "x", {6, 6});
    return {b.add("MatMul", {x, x})};
  });
}

TEST(Gemm, EveryFormAgrees) {
  for (const int64_t transpose_a : {0, 1}) {
    for (const int64_t transpose_b : {0, 1}) {
      for (const Shape& c :
           {Shape{}, Shape{1}, Shape{9}, Shape{1, 9}, Shape{5, 1}, Shape{5, 9}, Shape{1, 1}}) {
        for (const bool constant : {true, false}) {
          SCOPED_TRACE(testing::Message() << transpose_a << transpose_b << shape_text(c) << constant);
          auto build = [&](bool with_c, float alpha, float beta) -> Build {
            return [=](GraphBuilder& b) -> std::vector<ValueId> {
              const Shape b_shape = transpose_b != 0 ? Shape{9, 7} : Shape{7, 9};
              std::vector<ValueId> in{f32_input(b, "a", transpose_a != 0 ? Shape{7, 5} : Shape{5, 7})};
              in.push_back(constant ? f32_constant(b, b_shape, 2) : f32_input(b, "b", b_shape));
              if (with_c) in.push_back(constant ? f32_constant(b, c, 5) : f32_input(b, "c", c));
              return {b.add(
                  "Gemm", in,
                  {{"transA", transpose_a}, {"transB", transpose_b}, {"alpha", alpha}, {"beta", beta}})};
            };
          };
          CompareOptions options;  // one number a row: no kernel of oneDNN takes it
          options.reference_allowed = c == Shape{5, 1};
          compare_all_kernels(build(true, 1, 1), options);
          compare_all_kernels(build(true, -2, -2), options);
          compare_all_kernels(build(true, 0.5F, 0), options);
          compare_all_kernels(build(false, 1.5F, 1), options);
          options.reference_allowed |= !constant;  // two factors: oneDNN's epilogue takes one
          compare_all_kernels(build(true, 0.5F, -2), options);
        }
      }
    }
  }
}

using AfterProduct = std::function<ValueId(GraphBuilder&, ValueId y)>;

std::vector<std::pair<std::string, AfterProduct>> product_epilogues() {
  auto vector = [](GraphBuilder& b, int64_t size) { return f32_constant(b, {size}, 11); };
  return {{"bias",
           [=](GraphBuilder& b, ValueId y) {
             return b.add("Add", {y, vector(b, 16)});
           }},
          {"bias, Gelu",
           [=](GraphBuilder& b, ValueId y) {
             return b.add("Gelu", {b.add("Add", {vector(b, 16), y})});
           }},
          {"bias, tanh Gelu",
           [=](GraphBuilder& b, ValueId y) {
             return b.add("Gelu", {b.add("Add", {y, vector(b, 16)})}, {{"approximate", std::string("tanh")}});
           }},
          {"bias, residual",
           [=](GraphBuilder& b, ValueId y) {
             const Shape shape = b.type(y).shape();
             return b.add("Add", {b.add("Add", {y, vector(b, 16)}), f32_input(b, "r", shape)});
           }},
          {"residual, bias",
           [=](GraphBuilder& b, ValueId y) {
             const Shape shape = b.type(y).shape();
             return b.add("Add", {b.add("Add", {y, f32_input(b, "r", shape)}), vector(b, 16)});
           }},
          {"one bias twice",
           [=](GraphBuilder& b, ValueId y) {
             const ValueId bias = vector(b, 16);
             return b.add("Add", {b.add("Relu", {b.add("Add", {y, bias})}), bias});
           }},
          {"scaled, clipped",
           [=](GraphBuilder& b, ValueId y) {
             return b.add("Clip", {b.add("Mul", {y, scalar(b, 3)}), scalar(b, -1), scalar(b, 1)});
           }},
          {"divided by a column",
           [=](GraphBuilder& b, ValueId y) {
             return b.add("Div", {y, b.constant("d", random_floats({1, 16}, 3, 1, 2))});
           }},
          {"Swish", [=](GraphBuilder& b, ValueId y) {
             return b.add("Swish", {y}, {{"alpha", 1.702F}});
           }}};
}

TEST(MatMul, EveryEpilogueAgrees) {
  for (const Shape& a : {Shape{5, 7}, Shape{1, 7}, Shape{16, 7}, Shape{2, 3, 7}, Shape{1, 16, 7}}) {
    for (const bool constant : {true, false}) {
      for (const auto& [name, behind] : product_epilogues()) {
        SCOPED_TRACE(shape_text(a) + (constant ? " constant " : " computed ") + name);
        const Build build = [&, &behind_ = behind](GraphBuilder& b) -> std::vector<ValueId> {
          const ValueId x = f32_input(b, "a", a);
          const ValueId w = constant ? f32_constant(b, {7, 16}, 2) : f32_input(b, "w", {7, 16});
          return {behind_(b, b.add("MatMul", {x, w}))};
        };
        compare_all_kernels(fused(build, graph::GroupKind::kMatmul));
      }
    }
  }
}

TEST(MatMul, EpiloguesOfBatchedProductsAgree) {
  for (const auto& [name, behind] : product_epilogues()) {
    SCOPED_TRACE(name);
    const Build build = [&, &behind_ = behind](GraphBuilder& b) -> std::vector<ValueId> {
      return {
          behind_(b, b.add("MatMul", {f32_input(b, "a", {2, 3, 5, 7}), f32_input(b, "w", {2, 3, 7, 16})}))};
    };
    compare_all_kernels(fused(build, graph::GroupKind::kMatmul));
  }
}

TEST(Gemm, EveryEpilogueAgrees) {
  for (const bool with_c : {true, false}) {
    for (const auto& [name, behind] : product_epilogues()) {
      SCOPED_TRACE(name);
      const Build build = [&, &behind_ = behind](GraphBuilder& b) -> std::vector<ValueId> {
        std::vector<ValueId> in{f32_input(b, "a", {5, 7}), f32_constant(b, {16, 7}, 2)};
        if (with_c) in.push_back(f32_constant(b, {16}, 6));
        return {behind_(b, b.add("Gemm", in, {{"transB", int64_t{1}}, {"alpha", 0.5F}}))};
      };
      compare_all_kernels(fused(build, graph::GroupKind::kMatmul));
    }
  }
}

// PyTorch's linear layer with a bias of the output's own shape: must not be taken for a row.
TEST(Gemm, AFullAddendOfOneRowAgrees) {
  const Build build = [&](GraphBuilder& b) -> std::vector<ValueId> {
    return {b.add("Gemm", {f32_input(b, "a", {1, 7}), f32_constant(b, {7, 16}), f32_input(b, "c", {1, 16})})};
  };
  compare_all_kernels(build);
}

}  // namespace
}  // namespace hone::backends
