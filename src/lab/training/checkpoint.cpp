#include "lab/training/checkpoint.h"

#include <algorithm>
#include <cmath>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/crc32c.h"
#include "core/descriptor.h"
#include "core/file.h"

namespace hone::lab {
namespace {

namespace fs = std::filesystem;
using IndexJson = nlohmann::ordered_json;

constexpr int kCheckpointSchema = 1;
constexpr const char* kFolder = "checkpoints";
constexpr const char* kStates = "state.safetensors";
constexpr const char* kIndex = "checkpoint.json";
constexpr const char* kPrefix = "step-";
constexpr const char* kUnfinished = ".unfinished-";

std::string crc_text(std::span<const std::byte> bytes) { return fmt::format("{:08x}", crc32c(bytes)); }

Result<std::string> file_checksum(const fs::path& path, std::size_t& bytes) {
  HONE_ASSIGN(const auto file, MappedFile::open(path));
  bytes = file->bytes().size();
  return crc_text(file->bytes());
}

// A folder's entries are on the disk once the folder itself is.
void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.value >= 0) (void)::fsync(descriptor.value);
}

Status write_index(const fs::path& folder, const Checkpoint& checkpoint) {
  std::size_t bytes = 0;
  HONE_ASSIGN(const std::string crc, file_checksum(folder / kStates, bytes));
  IndexJson index = {{"schema", kCheckpointSchema},
                     {"step", checkpoint.step},
                     {"place", {{"epoch", checkpoint.place.epoch}, {"batch", checkpoint.place.batch}}},
                     {"seconds", checkpoint.seconds},
                     {"metric", checkpoint.metric ? IndexJson(*checkpoint.metric) : IndexJson(nullptr)},
                     {"precision", checkpoint.precision},
                     {"residual", checkpoint.residual},
                     {"files", {{{"name", kStates}, {"bytes", bytes}, {"crc32c", crc}}}}};
  const std::string text = index.dump();
  index["crc32c"] = crc_text(std::as_bytes(std::span(text)));  // of the index without this line
  return write_file(folder / kIndex, index.dump(2) + "\n");
}

void remove_old(const fs::path& checkpoints, const fs::path& run, int64_t keep) {
  std::error_code ignored;
  std::vector<fs::path> unfinished;
  for (const auto& entry : fs::directory_iterator(checkpoints, ignored))
    if (entry.path().filename().string().starts_with(kUnfinished)) unfinished.push_back(entry.path());
  for (const fs::path& folder : unfinished) fs::remove_all(folder, ignored);
  const std::vector<fs::path> all = list_checkpoints(run);
  for (std::size_t i = static_cast<std::size_t>(keep); i < all.size(); ++i) {
    // Its index goes first: what is left of it is then no checkpoint.
    fs::remove(all[i] / kIndex, ignored);
    fs::remove_all(all[i], ignored);
  }
}

// The index's content, its own checksum tested.
Result<IndexJson> read_index(const fs::path& path) {
  std::error_code unknown;
  if (fs::exists(path, unknown) && !fs::is_regular_file(path, unknown))  // a pipe would have us wait for ever
    return corrupt(fmt::format("{}: is no file", path.string()));
  HONE_ASSIGN(const std::string text, read_file(path));
  IndexJson index = IndexJson::parse(text, nullptr, false);
  if (!index.is_object() || !index.contains("crc32c") || !index["crc32c"].is_string())
    return corrupt(fmt::format("{}: is no index of a checkpoint", path.string()));
  const std::string said = index["crc32c"].get<std::string>();
  index.erase("crc32c");
  const std::string rest = index.dump();
  if (crc_text(std::as_bytes(std::span(rest))) != said)
    return corrupt(fmt::format("{}: its checksum does not fit; it is damaged", path.string()));
  if (index.value("schema", 0) > kCheckpointSchema)
    return unsupported(
        fmt::format("{}: is of a newer hone (schema {})", path.string(), index.value("schema", 0)));
  return index;
}

Result<Checkpoint> checkpoint_of(const fs::path& folder, const IndexJson& index) {
  Checkpoint checkpoint;
  const IndexJson& file = index.at("files").at(0);
  std::size_t bytes = 0;
  HONE_ASSIGN(const std::string crc, file_checksum(folder / kStates, bytes));
  if (bytes != file.at("bytes").get<std::size_t>() || crc != file.at("crc32c").get<std::string>())
    return corrupt(fmt::format("{}: its size or checksum does not fit the index; it is damaged",
                               (folder / kStates).string()));
  checkpoint.step = index.at("step").get<int64_t>();
  checkpoint.place = {index.at("place").at("epoch").get<int64_t>(),
                      index.at("place").at("batch").get<int64_t>()};
  checkpoint.seconds = index.at("seconds").get<double>();
  if (!index.at("metric").is_null()) checkpoint.metric = index.at("metric").get<double>();
  checkpoint.precision = index.value("precision", "");  // of an older hone: none
  checkpoint.residual = index.value("residual", "");
  HONE_ASSIGN(model::Safetensors contents, model::read_safetensors(folder / kStates));
  checkpoint.states = std::move(contents.tensors);
  return checkpoint;
}

}  // namespace

Status write_checkpoint(const fs::path& run, const Checkpoint& checkpoint, int64_t keep) {
  const fs::path checkpoints = run / kFolder;
  const std::string name = fmt::format("{}{:010}", kPrefix, checkpoint.step);
  const fs::path unfinished = checkpoints / (kUnfinished + name);
  std::error_code error;
  fs::remove_all(unfinished, error);
  HONE_CHECK(make_folder(unfinished));
  const auto write_all = [&]() -> Status {
    model::Safetensors contents{checkpoint.states, {{"format", "hone"}}};
    HONE_CHECK(model::write_safetensors(unfinished / kStates, contents));
    HONE_CHECK(write_index(unfinished, checkpoint));
    sync_folder(unfinished);
    if (fs::exists(checkpoints / name, error)) {  // a damaged one, or of a run that was resumed before it
      fs::remove(checkpoints / name / kIndex, error);
      fs::remove_all(checkpoints / name, error);
    }
    fs::rename(unfinished, checkpoints / name, error);
    if (error)
      return io_error(fmt::format("{}: cannot be renamed: {}", unfinished.string(), error.message()));
    sync_folder(checkpoints);
    return {};
  };
  if (Status status = write_all(); !status.ok()) {
    fs::remove_all(unfinished, error);
    return status.error().within(fmt::format("the checkpoint of step {} was not written", checkpoint.step));
  }
  remove_old(checkpoints, run, keep);
  return {};
}

Result<Checkpoint> read_checkpoint(const fs::path& folder) {
  HONE_ASSIGN(const IndexJson index, read_index(folder / kIndex));
  try {
    return checkpoint_of(folder, index);
  } catch (const IndexJson::exception&) {
    return corrupt(fmt::format("{}: lacks what an index of a checkpoint has", (folder / kIndex).string()));
  }
}

std::vector<fs::path> list_checkpoints(const fs::path& run) {
  std::vector<fs::path> list;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(run / kFolder, ignored))
    if (entry.path().filename().string().starts_with(kPrefix)) list.push_back(entry.path());
  std::sort(list.rbegin(), list.rend());
  return list;
}

std::optional<Checkpoint> read_newest_checkpoint(const fs::path& run, std::vector<std::string>& damaged) {
  for (const fs::path& folder : list_checkpoints(run)) {
    auto checkpoint = read_checkpoint(folder);
    if (checkpoint.ok()) return *std::move(checkpoint);
    damaged.push_back(checkpoint.error().message);
  }
  return std::nullopt;
}

Status CheckpointWriter::write(Checkpoint checkpoint) {
  Status before = wait();
  thread_ =
      std::thread([this, held = std::move(checkpoint)] { status_ = write_checkpoint(run_, held, keep_); });
  return before;
}

Status CheckpointWriter::wait() {
  if (thread_.joinable()) thread_.join();
  return std::exchange(status_, Status());
}

}  // namespace hone::lab
