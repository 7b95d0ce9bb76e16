// Times epochs of pairs of images and masks as training gets them, and prints a line of JSON: bench/data/compare.py
// runs it beside PyTorch's DataLoader.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/core.h>
#include <sys/resource.h>

#include "core/clock.h"
#include "data/augment/augment.h"
#include "data/image/image_sets.h"
#include "data/loader.h"

namespace {

using namespace hone;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// As compare.py's transforms of the same names.
Result<data::AugmentOptions> options_of(const std::string& name, int64_t crop) {
  data::AugmentOptions options;
  options.crop = {crop, crop};
  options.flip_horizontal = options.flip_vertical = true;
  if (name == "crop") return options;
  options.rotate = 180;
  options.scale = 0.1;
  options.brightness = 0.1;
  options.contrast = 0.2;
  options.noise = 0.02;
  if (name == "affine") return options;
  options.elastic = 4;
  if (name == "elastic") return options;
  return invalid("--augment is crop, affine or elastic");
}

struct Arguments {
  std::string folder, augment = "affine";
  int64_t batch = 16, crop = 256, epochs = 1;
  int workers = 2;
};

Status run(const Arguments& arguments) {
  HONE_ASSIGN(const auto set, data::open_pairs({.images = arguments.folder + "/images",
                                                .masks = arguments.folder + "/masks"}));
  HONE_ASSIGN(const auto options, options_of(arguments.augment, arguments.crop));
  HONE_ASSIGN(const auto augmentation, data::make_augmentation(options));
  data::LoaderOptions loading;
  loading.order.batch_size = arguments.batch;
  loading.workers = arguments.workers;
  HONE_ASSIGN(const auto loader, data::Loader::make(set, augmentation, loading));
  // The first epoch warms the page cache and the pools, and is not counted.
  for (int64_t i = 0; i < loader->batches_per_epoch(); ++i) HONE_CHECK(loader->next());
  double checksum = 0;
  const data::LoaderCounts before = loader->counts();
  const double cpu_before = cpu_seconds();
  const int64_t start = now_ns();
  const int64_t batches = arguments.epochs * loader->batches_per_epoch();
  for (int64_t i = 0; i < batches; ++i) {
    HONE_ASSIGN(const data::Batch batch, loader->next());
    checksum += batch.tensors[0].at(0);
  }
  const double seconds = static_cast<double>(now_ns() - start) * 1e-9;
  const data::LoaderCounts counts = loader->counts();
  const double cpu = cpu_seconds() - cpu_before;
  fmt::print(R"({{"samples":{},"seconds":{:.6f},"cpu_seconds":{:.6f})", batches * arguments.batch, seconds,
             cpu);
  for (std::size_t i = 0; i < data::kStages; ++i) {
    const auto stage = static_cast<data::Stage>(i);
    fmt::print(R"(,"{}_ms":{:.3f})", data::stage_name(stage),
               static_cast<double>(counts.stages[stage] - before.stages[stage]) * 1e-6);
  }
  fmt::print(R"(,"checksum":{:.6f}}})"
             "\n",
             checksum);
  return {};
}

}  // namespace

int main(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = values[i], value = values[i + 1];
    if (name == "--folder") arguments.folder = value;
    if (name == "--augment") arguments.augment = value;
    if (name == "--batch") arguments.batch = std::atoll(value.c_str());
    if (name == "--crop") arguments.crop = std::atoll(value.c_str());
    if (name == "--epochs") arguments.epochs = std::atoll(value.c_str());
    if (name == "--workers") arguments.workers = std::atoi(value.c_str());
  }
  if (arguments.folder.empty()) {
    fmt::print(stderr,
               "usage: bench_loader --folder DIR [--augment crop|affine|elastic] [--batch N] [--crop N] "
               "[--epochs N] [--workers N]\n");
    return 2;
  }
  const hone::Status status = run(arguments);
  if (!status.ok()) fmt::print(stderr, "bench_loader: {}\n", status.error().message);
  return status.ok() ? 0 : 1;
}
