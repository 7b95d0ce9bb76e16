// The GPU sampler on a library of NVML's name and interface that needs no GPU (tests/observe/fake_nvml).
#include "observe/nvml/gpu_sampler.h"

#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/source_folder.h"

namespace hone::observe::nvml {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using trace::live::ClockReason;
using trace::live::GpuUse;

std::string fake_nvml() { return (build_folder() / "fake_nvml" / "libnvidia-ml.so.1").string(); }

class Gpus : public ::testing::Test {
 protected:
  void SetUp() override { kept_ = ::dlopen(fake_nvml().c_str(), RTLD_NOW); }
  void TearDown() override {
    ::unsetenv("HONE_FAKE_NVML");
    // Everything that was asked of the library has been given back.
    ASSERT_NE(kept_, nullptr) << "build the target fake_nvml";
    EXPECT_EQ(reinterpret_cast<int (*)()>(::dlsym(kept_, "fake_nvml_left_over"))(), 0);
    ::dlclose(kept_);
  }
  static Result<GpuSampler> open(const char* scenario) {
    ::setenv("HONE_FAKE_NVML", scenario, 1);
    return GpuSampler::open(fake_nvml());
  }
  // What the second of two looks a second apart sees.
  static GpuReading look(const char* scenario) {
    Result<GpuSampler> sampler = open(scenario);
    EXPECT_TRUE(sampler.ok()) << sampler.error().message;
    sampler->read(0);
    return sampler->read(1);
  }

  void* kept_ = nullptr;
};

TEST_F(Gpus, SayWhatTheyDidInTheInterval) {
  const GpuReading reading = look("two");
  EXPECT_EQ(reading.driver, "580.159.04");
  ASSERT_EQ(reading.gpus.size(), 2u);
  const GpuUse& gpu = reading.gpus[0];
  EXPECT_EQ(gpu.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(gpu.uuid, "GPU-0");
  EXPECT_EQ(gpu.pci_bus_id, "00000000:19:00.0");
  EXPECT_EQ(gpu.busy_share, 0.97);
  EXPECT_EQ(gpu.memory_used_bytes, 54.0 * (1ull << 30));
  EXPECT_EQ(gpu.memory_total_bytes, 80.0 * (1ull << 30));
  EXPECT_EQ(gpu.power_w, 650);  // the mean, by energy; 612 is of the moment
  EXPECT_EQ(gpu.power_limit_w, 700);
  EXPECT_EQ(gpu.sm_clock_mhz, 1755);
  EXPECT_EQ(gpu.sm_clock_max_mhz, 1980);
  EXPECT_EQ(gpu.temperature_c, 67);
  EXPECT_EQ(gpu.slowdown_temperature_c, 92);
  EXPECT_THAT(*gpu.clock_reasons, ElementsAre(ClockReason::kPowerCap, ClockReason::kSoftwareThermal));
  EXPECT_DOUBLE_EQ(*gpu.held_by_power_share, 0.84);
  EXPECT_DOUBLE_EQ(*gpu.held_by_heat_share, 0.02);
  EXPECT_THAT(reading.notes, IsEmpty());
}

TEST_F(Gpus, SayByGpmWhatTensorCoresMemoryAndLinksDid) {
  const GpuUse gpu = look("two").gpus[0];
  EXPECT_DOUBLE_EQ(*gpu.tensor_share, 0.425);
  EXPECT_DOUBLE_EQ(*gpu.dram_share, 0.55);
  EXPECT_DOUBLE_EQ(*gpu.sm_share, 0.9);
  EXPECT_EQ(gpu.fp64_share, 0);  // known to be none
  EXPECT_EQ(gpu.pcie.sent, 1024.0 * 1024 * 1024);
  EXPECT_EQ(gpu.nvlink.received, 20480.0 * 1024 * 1024);
}

TEST_F(Gpus, OfTheFirstLookKnowNoRates) {
  const GpuReading reading = open("two")->read(0);
  EXPECT_EQ(reading.gpus[0].tensor_share, std::nullopt);
  EXPECT_EQ(reading.gpus[0].held_by_power_share, std::nullopt);
  EXPECT_FALSE(reading.gpus[0].pcie.known());
  EXPECT_EQ(reading.gpus[0].power_w, 612);
  EXPECT_EQ(reading.processes.at(4242).share, std::nullopt);
}

TEST_F(Gpus, NameTheProcessesThatUseThem) {
  const GpuReading reading = look("two");
  ASSERT_EQ(reading.processes.size(), 70u);  // more than the first request had room for
  const GpuProcess& process = reading.processes.at(4242);
  EXPECT_EQ(process.memory_bytes, 50.0 * (1ull << 30));  // computes and draws: counted once
  EXPECT_DOUBLE_EQ(*process.share, 0.85);                // the mean of two samples
  EXPECT_THAT(process.gpus, ElementsAre(0));
  EXPECT_EQ(reading.processes.at(5'000'001).memory_bytes, std::nullopt);  // the driver does not say
  EXPECT_EQ(reading.processes.at(5'000'001).share, std::nullopt);
}

TEST_F(Gpus, AProcessOnSeveralAddsUp) {
  const GpuReading reading = look("eight");
  ASSERT_EQ(reading.gpus.size(), 8u);
  const GpuProcess& process = reading.processes.at(4242);
  EXPECT_EQ(process.memory_bytes, 8 * 50.0 * (1ull << 30));
  EXPECT_DOUBLE_EQ(*process.share, 8 * 0.85);
  EXPECT_EQ(process.gpus.size(), 8u);
}

TEST_F(Gpus, OlderOnesSayWhatTheyCanAndANoteTheRest) {
  const GpuReading reading = look("old");
  const GpuUse& gpu = reading.gpus[0];
  EXPECT_EQ(gpu.tensor_share, std::nullopt);
  EXPECT_EQ(gpu.dram_share, std::nullopt);
  EXPECT_THAT(reading.notes,
              Contains(HasSubstr("tensor cores, memory bandwidth, pipes: this GPU has no GPM")));
  EXPECT_EQ(gpu.power_w, 612);  // of the moment: energy is not counted
  EXPECT_EQ(gpu.memory_used_bytes, 60.0 * (1ull << 30));
  EXPECT_EQ(gpu.nvlink.sent, 4.0 * (1ull << 30));
  EXPECT_EQ(gpu.pcie.received, 1.2e9);
  EXPECT_EQ(reading.processes.at(4242).share, std::nullopt);
}

TEST_F(Gpus, ADividedOneShowsItsInstances) {
  const GpuReading reading = look("mig");
  ASSERT_EQ(reading.gpus.size(), 3u);
  EXPECT_TRUE(reading.gpus[0].divided);
  EXPECT_EQ(reading.gpus[0].busy_share, std::nullopt);
  EXPECT_THAT(reading.notes, Contains(HasSubstr("busy: the driver does not say it of a divided GPU (MIG)")));
  EXPECT_EQ(reading.gpus[1].instance, 1);
  EXPECT_EQ(reading.gpus[2].instance, 5);
  EXPECT_EQ(reading.gpus[2].uuid, "MIG-0-5");
  EXPECT_EQ(reading.gpus[1].memory_total_bytes, 40.0 * (1ull << 30));
  EXPECT_DOUBLE_EQ(*reading.gpus[1].tensor_share, 0.425);
  EXPECT_DOUBLE_EQ(*reading.gpus[2].tensor_share, 0.2125);
  EXPECT_EQ(reading.gpus[1].power_w, std::nullopt);
}

TEST_F(Gpus, OneThatFellOffTheBusIsNamedAndTheOthersGoOn) {
  const GpuReading reading = look("lost");
  ASSERT_EQ(reading.gpus.size(), 2u);
  EXPECT_EQ(reading.gpus[0].busy_share, 0.97);
  EXPECT_EQ(reading.gpus[1].busy_share, std::nullopt);
  EXPECT_EQ(reading.gpus[1].memory_used_bytes, std::nullopt);
  EXPECT_EQ(reading.gpus[1].clock_reasons, std::nullopt);
  EXPECT_THAT(reading.notes, Contains(HasSubstr("GPU is lost")));
}

TEST_F(Gpus, WhereThereAreNoneTheErrorSaysWhy) {
  EXPECT_THAT(open("none").error().message, HasSubstr("sees no GPU"));
  EXPECT_THAT(open("broken").error().message, HasSubstr("Driver Not Loaded"));
  EXPECT_THAT(GpuSampler::open("libnothing-like-nvml.so.1").error().message,
              HasSubstr("libnothing-like-nvml.so.1"));
  // A library that is something else.
  EXPECT_THAT(GpuSampler::open("libz.so.1").error().message, HasSubstr("lacks nvmlInit_v2"));
}

TEST_F(Gpus, OneLookServesTheRecordOfARun) {
  ::setenv("HONE_FAKE_NVML", "two", 1);
  const Result<GpuReading> reading = read_gpus(fake_nvml());
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->driver, "580.159.04");
  EXPECT_EQ(reading->gpus[1].power_limit_w, 700);
}

}  // namespace
}  // namespace hone::observe::nvml
