// A lab report made up for tests: ResNet-50 at batch 1 on two cores, unfused and fused, with plausible times
// that went through the real analysis. Not part of the product.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analyze/analyze.h"
#include "analyze/fabricate.h"

namespace hone::report::fabricate {

using analyze::fabricate::op;
using trace::OperatorClass;

inline Roofs server_roofs() {
  Roofs roofs;
  roofs.machine = "AMD EPYC 9R45, 2 cores";
  roofs.threads = 2;
  auto rate = [](double value) { return Rate{value, value * 0.96, value * 1.02}; };
  roofs.compute = {{DType::kF32, "fma", 2, rate(262e9)}, {DType::kF32, "gemm", 2, rate(241e9)}};
  roofs.memory = {{"L1", "copy", 2, 96e3, rate(1100e9)},
                  {"L2", "copy", 2, 2e6, rate(410e9)},
                  {"L3", "copy", 2, 32e6, rate(128e9)},
                  {"DRAM", "copy", 2, 0, rate(35e9)}};
  roofs.barrier = {0.4e-6, 0.3e-6, 0.6e-6};
  roofs.thread_start = {1.1e-6, 1e-6, 1.4e-6};
  return roofs;
}

// A plan with the time that each operator takes.
struct Plan {
  std::vector<trace::Operator> operators;
  std::vector<double> ms;

  void add(trace::Operator added, double takes) {
    added.implementation =
        added.op_class == OperatorClass::kConvolution ? "onednn:jit_avx512" : "hone:pointwise";
    operators.push_back(std::move(added));
    ms.push_back(takes);
  }
};

class ResNet {
 public:
  explicit ResNet(bool fused) : fused_(fused), random_(7) {}

  Plan build() {
    convolution("conv1", 3, 64, 112, 7);
    pointwise("maxpool", "MaxPool", OperatorClass::kPooling, 64.0 * 112 * 112, "");
    int channels = 64, size = 56;
    for (int stage = 0; stage < 4; ++stage) {
      const int blocks[] = {3, 4, 6, 3};
      for (int block = 0; block < blocks[stage]; ++block)
        bottleneck(fmt::format("layer{}.{}", stage + 1, block), channels, 64 << stage, size, block == 0);
      channels = 256 << stage;
      size /= 2;
    }
    pointwise("avgpool", "GlobalAveragePool", OperatorClass::kPooling, 2048.0 * 49, "");
    trace::Operator fc = op("fc", "Gemm", OperatorClass::kMatrix, 2.0 * 2048 * 1000, 2048 * 4 + 8.2e6, 4000);
    fc.constant_bytes = 8.2e6;
    fc.geometry = "1×2048 by 2048×1000 product";
    plan_.add(fc, 0.31);
    return std::move(plan_);
  }

 private:
  void bottleneck(const std::string& name, int in, int width, int size, bool first) {
    int channels = first && in != 64 ? in : (first ? 64 : width * 4);
    convolution(name + ".conv1", channels, width, size, 1);
    convolution(name + ".conv2", width, width, size, 3);
    convolution(name + ".conv3", width, width * 4, size, 1, !fused_);
    if (first) convolution(name + ".downsample", channels, width * 4, size, 1, true);
    double elements = static_cast<double>(width) * 4 * size * size;
    if (fused_) return;
    pointwise(name + ".add", "Add", OperatorClass::kPointwise, elements, name + ".conv3", 1.5);
    pointwise(name + ".relu", "Relu", OperatorClass::kPointwise, elements, name + ".add");
  }

  void convolution(const std::string& name, int in, int out, int size, int kernel,
                   bool no_activation = false) {
    double positions = static_cast<double>(size) * size;
    double weights = static_cast<double>(in) * out * kernel * kernel * 4;
    trace::Operator conv = op(name, "Conv", OperatorClass::kConvolution, 2 * weights / 4 * positions,
                              in * positions * 4 + weights, out * positions * 4);
    conv.constant_bytes = weights;
    conv.geometry =
        fmt::format("{0}×{0} convolution, {1} → {2} channels, {3}×{3} positions", kernel, in, out, size);
    if (fused_) conv.provenance = {name, name + ".bn", name + ".relu"};
    double efficiency = (kernel == 1 ? 0.72 : 0.84) + spread_(random_);
    if (in == 3) efficiency = 0.38;
    const bool winograd = fused_ && kernel == 3;
    if (winograd) {
      conv.algorithm = "Winograd F(2x2,3x3)";
      conv.least_flops = conv.executed_flops = conv.flops / 2.25;
    }
    plan_.add(conv, conv.kernel_flops() / 262e9 * 1e3 / efficiency);
    if (fused_) return;
    pointwise(name + ".bn", "BatchNormalization", OperatorClass::kNormalization, out * positions, name);
    if (!no_activation)
      pointwise(name + ".relu", "Relu", OperatorClass::kPointwise, out * positions, name + ".bn");
  }

  void pointwise(const std::string& name, const std::string& kind, OperatorClass op_class, double elements,
                 const std::string& partner, double reads = 1) {
    trace::Operator node = op(name, kind, op_class, elements, reads * elements * 4, elements * 4);
    if (!partner.empty()) node.avoidable_bytes = node.bytes();
    node.fuses_with = partner;
    plan_.add(node, node.bytes() / 21e9 * 1e3 + 0.004);
  }

  bool fused_;
  Plan plan_;
  std::mt19937 random_;
  std::uniform_real_distribution<double> spread_{-0.06, 0.05};
};

inline analyze::Analysis analysis_of(Plan plan, double gap_us, uint32_t seed) {
  std::vector<double> ms = plan.ms;
  analyze::fabricate::Timeline timeline(std::move(plan.operators));
  timeline.trace().meta.machine = "AMD EPYC 9R45, 2 cores";
  std::mt19937 random(seed);
  std::lognormal_distribution<double> noise(0, 0.02);
  for (int step = 0; step < 40; ++step) {
    timeline.begin_step();
    timeline.idle(0.03);
    for (uint32_t i = 0; i < ms.size(); ++i) {
      timeline.run(i, ms[i] * noise(random));
      timeline.idle(gap_us * 1e-3 * noise(random));
    }
    timeline.idle(0.05);
    timeline.end_step();
  }
  Roofs roofs = server_roofs();
  return *analyze::analyze_trace(timeline.trace(), roofs, {5, 0, "resnet50.onnx"});
}

inline std::vector<analyze::PassRow> passes(double total_gain_ms) {
  auto gain = [&](double share, double wobble) {
    double ms = total_gain_ms * share;
    return analyze::Estimate{ms, ms - wobble, ms + wobble};
  };
  return {
      {"fold_batch_norm", "reassociating", total_gain_ms * 0.42, gain(0.45, 0.21), true,
       "53 BatchNormalization nodes folded into the weights of their convolutions", 1.8e-6},
      {"fuse_activation", "exact", total_gain_ms * 0.27, gain(0.25, 0.18), true,
       "49 Relu became epilogues of Conv", 1.8e-6},
      {"fuse_residual_add", "reassociating", total_gain_ms * 0.19, gain(0.16, 0.19), true,
       "16 Add became epilogues of Conv", 2.4e-6},
      {"layout", "exact", total_gain_ms * 0.09, gain(0.08, 0.12), true,
       "blocked16 from conv1 to avgpool; 2 reorders left, at the edges", 2.4e-6},
      {"memory_order", "exact", total_gain_ms * 0.02, gain(0.003, 0.15), false,
       "no difference: the interval of the gain includes zero", 2.4e-6},
      {"attention", "reassociating", 0, std::nullopt, false,
       "did not fire: the model has no softmax between products", 0},
  };
}

inline analyze::LabReport resnet_report() {
  analyze::LabReport report;
  report.model = {"resnet50",
                  "models/resnet50.onnx",
                  176,
                  25.6e6,
                  8.2e9,
                  {{"input", "f32[1,3,224,224]"}},
                  {{"logits", "f32[1,1000]"}}};
  report.roofs = server_roofs();
  report.baseline = analysis_of(ResNet(false).build(), 4.8, 1);
  report.optimised = analysis_of(ResNet(true).build(), 1.1, 2);
  double before = report.baseline.step.ms.median, after = report.optimised.step.ms.median;
  report.passes = passes(before - after);
  report.result = {{before / after, before / after * 0.985, before / after * 1.012},
                   2.4e-6,
                   true,
                   60,
                   0.95,
                   report.passes[0].predicted_gain_ms + report.passes[1].predicted_gain_ms +
                       report.passes[2].predicted_gain_ms + report.passes[3].predicted_gain_ms,
                   {before - after, before - after - 0.3, before - after + 0.2},
                   report.baseline.step.ms,
                   report.optimised.step.ms};
  report.combinations = {{{"fuse_activation", "fuse_residual_add"},
                          report.passes[1].predicted_gain_ms + report.passes[2].predicted_gain_ms,
                          *report.passes[2].measured_gain_ms,
                          true,
                          "kept: 1.19× (1.17–1.21), rel. L2 2.4e-06"}};
  report.numerics = {{"logits", 2.4e-6, 1e-4, true}};
  report.baseline_memory = {31.2e6, 102.4e6, 288e6};
  report.optimised_memory = {9.6e6, 104.9e6, 231e6};
  report.environment = {"AMD EPYC 9R45, 2 cores",
                        "cpu",
                        2,
                        "Debian GNU/Linux 12, Linux 6.1",
                        "0.1.0",
                        "g++ 12.2",
                        {{"oneDNN", "2.6.3"}, {"Highway", "1.0.3"}},
                        {{"threads pinned", "yes"}, {"frequency governor", "not readable"}},
                        "2026-03-14T09:26:53+01:00"};
  report.reproduce = {"hone lab models/resnet50.onnx --device cpu --out runs/resnet50",
                      {"Inputs: standard normal, seed 1.",
                       "Each comparison: 60 pairs, the two plans in turns, order drawn at random."}};
  report.phases = {{"roofs", 1.6}, {"choosing kernels", 4.25}, {"paired runs", 12.5}};
  return report;
}

// The same with names as an attacker, or an exporter in a bad mood, would write them.
inline analyze::LabReport hostile_report() {
  analyze::LabReport report = resnet_report();
  const std::string hostile =
      "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&\xff\x1b[31m";
  report.model.name = hostile;
  report.model.path = std::string(4000, 'A') + hostile;
  report.reproduce.command = hostile;
  report.environment.machine = hostile;
  report.passes[0].name = hostile;
  report.passes[0].reason = hostile + std::string(300, 'W');
  report.passes[0].precision = {{hostile, hostile, hostile, std::nan(""), HUGE_VAL, 1e300, true, hostile}};
  report.numerics[0].output = hostile;
  for (analyze::Analysis* side : {&report.baseline, &report.optimised}) {
    side->source = hostile;
    for (auto& row : side->top) row.name = row.why = hostile + std::string(200, 'x');
    for (auto& row : side->operators) row.name = hostile;
    for (auto& row : side->timeline) row.name = hostile;
    for (auto& row : side->roofline) row.name = hostile;
    for (auto& row : side->ledger) row.evidence.push_back(hostile);
    for (auto& track : side->timeline_tracks) track = hostile;
    side->warnings.push_back(hostile);
  }
  return report;
}

}  // namespace hone::report::fabricate
