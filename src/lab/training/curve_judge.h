// Judges a changed training step by what it learns: from the same weights and on the same batches its loss and gradient
// norm must take the course that the unchanged step's take. How far two courses may lie apart is measured: weights that
// differ in their last place give two courses of the unchanged step, too.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "data/batches.h"
#include "lab/experiment/judge.h"
#include "lab/training/batch_inputs.h"

namespace hone::lab {

struct LossCurve {
  std::vector<double> loss, gradient_norm;  // one a step
};

struct CurveJudgeOptions {
  double seconds = 3;  // that one curve may take, roughly
  int least_steps = 3;
  int most_steps = 50;
  std::function<bool()> keep_going = {};  // false cancels
};

class CurveJudge final : public Judge {
 public:
  // `batches`, with tensors for `fields`: of which step i reads number i modulo their number.
  CurveJudge(std::vector<data::Batch> batches, std::vector<graph::BatchField> fields,
             CurveJudgeOptions options)
      : batches_(std::move(batches)), fields_(std::move(fields)), options_(std::move(options)) {}

  std::string preparing() const override { return "reading batches"; }
  Status prepare(const graph::Graph& baseline, std::span<const Tensor> inputs) override;
  // An error where the unchanged step's loss does not stay finite.
  Status see_unchanged(runtime::Plan& plan) override;
  Result<NumericReport> check(runtime::Plan& plan, double lossy) override;
  Status start_anew(runtime::Plan& plan) const override;

  // A changed step may have states that the unchanged one has not: `initial` says by name what they begin with, and what is
  // known already stays.
  void know(const std::map<std::string, Tensor>& initial);
  // Of a plan whose loss is scaled (StepOptions::scale_loss): from now on such begin with the scale that it comes to in its first
  // steps, instead of skipping those here. Returns that scale; an error where none keeps the gradients finite.
  Result<double> settle_loss_scale(runtime::Plan& plan);

  // The largest relative difference that a check without lossy passes forgives in either curve.
  double most_allowed() const;
  // Loss and gradient norm, with those that check() saw last.
  std::vector<analyze::LearningCurve> curves() const;
  // "20 steps from the same weights on the same batches; …"
  std::string how() const;

 private:
  using Values = std::map<std::string, Tensor>;  // by the name of an input of a step
  Status write(runtime::Plan& plan, const Values& values) const;
  // Of so many steps from `values`; the plan then holds what it did at first.
  Result<LossCurve> curve_of(runtime::Plan& plan, const Values& values, int steps) const;
  Values disturbed_values() const;  // parameters one unit in the last place beside the given ones

  std::vector<data::Batch> batches_;
  std::vector<graph::BatchField> fields_;
  CurveJudgeOptions options_;
  Values values_;
  std::vector<std::string> parameters_;  // inputs of the unchanged step that are f32 states, in its order
  int steps_ = 0;
  LossCurve unchanged_, disturbed_, last_;
  double loss_band_ = 0, norm_band_ = 0;        // largest relative difference between the first two
  double loss_allowed_ = 0, norm_allowed_ = 0;  // in the last check
};

}  // namespace hone::lab
