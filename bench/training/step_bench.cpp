// Training steps on request, for bench/training/run.py: one made-up batch, prepared once, on which a recipe's step runs as
// often as each line of stdin says; the answer is the mean milliseconds of a step. What PyTorch needs to do the same work
// (weights, batch, optimizer, the losses of the first steps) is written before that.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/clock.h"
#include "core/file.h"
#include "lab/training/program.h"
#include "lab/training/session.h"
#include "model/recipe/recipe.h"
#include "model/safetensors/safetensors.h"
#include "runtime/make_provider.h"

namespace {

using namespace hone;

constexpr int kComparedSteps = 5;

struct Arguments {
  std::string recipe, folder;
  std::vector<std::string> fields, set;
  int threads = 0;
  bool shows_plan = false;
};

// "image=f32:3x64x64": normal numbers; "label=i64:<10" and "tokens=i64:64<256": whole ones below a limit, as types allow.
Result<data::Field> field_of(const std::string& text, int64_t& limit) {
  const auto equals = text.find('='), colon = text.find(':'), below = text.find('<');
  if (equals == std::string::npos || colon == std::string::npos || colon < equals)
    return invalid(
        fmt::format("--field {}: give NAME=TYPE:EXTENTxEXTENT, and <LIMIT of whole numbers", text));
  data::Field field;
  field.name = text.substr(0, equals);
  const auto dtype = dtype_from_name(text.substr(equals + 1, colon - equals - 1));
  if (!dtype) return invalid(fmt::format("--field {}: no such type", text));
  field.dtype = *dtype;
  limit = below == std::string::npos ? 0 : std::stoll(text.substr(below + 1));
  for (std::size_t at = colon + 1; at < std::min(below, text.size());) {
    std::size_t read = 0;
    field.shape.push_back(std::stoll(text.substr(at), &read));
    at += read + 1;
  }
  return field;
}

Tensor made_up(DType dtype, const Shape& shape, int64_t limit, uint64_t seed) {
  std::mt19937_64 random(seed);
  Tensor tensor = Tensor::zeros(dtype, shape);
  std::normal_distribution<float> normal;
  if (dtype == DType::kF32)
    for (float& value : tensor.as<float>()) value = normal(random);
  if (dtype == DType::kI64)
    for (int64_t& value : tensor.as<int64_t>())
      value = static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  if (dtype == DType::kU8)
    for (uint8_t& value : tensor.as<uint8_t>())
      value = static_cast<uint8_t>(random() % static_cast<uint64_t>(limit));
  return tensor.aligned();
}

Status write_for_peer(const std::string& folder, const model::Recipe& recipe,
                      const lab::TrainingProgram& program, const std::vector<Tensor>& batch,
                      const std::vector<double>& losses) {
  model::Safetensors initial, given;
  for (const auto* list : {&program.model.parameters, &program.model.statistics})
    for (const graph::NamedTensor& tensor : *list) initial.tensors.emplace_back(tensor.name, tensor.value);
  for (std::size_t f = 0; f < batch.size(); ++f)
    given.tensors.emplace_back(program.options.fields[f].name, batch[f]);
  const graph::Optimizer& o = recipe.optimizer;
  const nlohmann::json run = {{"losses", losses},          {"rate", o.rate},
                              {"beta1", o.beta1},          {"beta2", o.beta2},
                              {"epsilon", o.epsilon},      {"weight_decay", o.weight_decay},
                              {"clip", recipe.train.clip}, {"precision", recipe.train.precision}};
  HONE_CHECK(model::write_safetensors(folder + "/initial.safetensors", initial));
  HONE_CHECK(model::write_safetensors(folder + "/batch.safetensors", given));
  return write_file(folder + "/run.json", run.dump(1) + "\n");
}

Status answer_requests(lab::Session& session) {
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    int64_t steps = 0;
    const auto read = std::from_chars(line.data(), line.data() + line.size(), steps);
    if (read.ec != std::errc() || steps < 1)
      return invalid(fmt::format("'{}': give a number of steps a line", line));
    const int64_t start = now_ns();
    for (int64_t i = 0; i < steps; ++i) HONE_CHECK(session.step());
    std::cout << fmt::format("{:.6f}",
                             static_cast<double>(now_ns() - start) / 1e6 / static_cast<double>(steps))
              << std::endl;
  }
  return {};
}

Status run(const Arguments& arguments) {
  HONE_ASSIGN(const model::Recipe recipe, model::read_recipe(arguments.recipe, arguments.set));
  std::vector<data::Field> fields;
  std::vector<Tensor> tensors;
  data::Batch batch;
  for (const std::string& text : arguments.fields) {
    int64_t limit = 0;
    HONE_ASSIGN(fields.emplace_back(), field_of(text, limit));
    Shape shape = fields.back().shape;
    shape.insert(shape.begin(), recipe.train.batch);
    tensors.push_back(made_up(fields.back().dtype, shape, limit, fields.size()));
  }
  HONE_ASSIGN(const lab::TrainingProgram program,
              lab::make_program(recipe, fields, recipe.train.steps, recipe.train.batch));
  HONE_ASSIGN(const auto provider, runtime::make_provider("cpu", {.threads = arguments.threads}));
  lab::SessionOptions options;
  options.autotune = !recipe.train.deterministic;
  options.precision = recipe.train.precision;
  HONE_ASSIGN(const auto session, lab::Session::make(program, *provider, options));
  for (std::size_t f = 0; f < tensors.size(); ++f) {
    const std::string name = graph::kDataPrefix + program.options.fields[f].name;
    const auto& inputs = session->plan().graph().inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (session->plan().graph().value(inputs[i]).name == name)
        HONE_CHECK(session->plan().write(i, tensors[f]));
  }
  for (const runtime::PlanStep& step : session->plan().steps())
    if (step.reference || step.on_host) fmt::print(stderr, "by reference: {} '{}'\n", step.op, step.name);
  if (arguments.shows_plan)
    for (const runtime::PlanStep& step : session->plan().steps())
      fmt::print(stderr, "{} '{}': {}\n", step.op, step.name, step.implementation);
  std::vector<double> losses;
  for (int i = 0; i < kComparedSteps; ++i) {
    HONE_ASSIGN(const lab::StepNumbers numbers, session->step());
    losses.push_back(numbers.loss);
  }
  HONE_CHECK(write_for_peer(arguments.folder, recipe, program, tensors, losses));
  return answer_requests(*session);
}

}  // namespace

// step_bench RECIPE FOLDER [--threads N] [--field NAME=TYPE:EXTENTS[<LIMIT]]… [--set KEY=VALUE]… [--plan]
int main(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--plan") {
      arguments.shows_plan = true;
      continue;
    }
    if (word.starts_with("--") && i + 1 == count) return std::fprintf(stderr, "%s: of what?\n", words[i]), 2;
    if (word == "--field")
      arguments.fields.emplace_back(words[++i]);
    else if (word == "--set")
      arguments.set.emplace_back(words[++i]);
    else if (word == "--threads")
      arguments.threads = std::stoi(words[++i]);
    else
      (arguments.recipe.empty() ? arguments.recipe : arguments.folder) = word;
  }
  const Status done = run(arguments);
  if (!done.ok()) fmt::print(stderr, "bench_training: {}\n", done.error().message);
  return done.ok() ? 0 : 1;
}
