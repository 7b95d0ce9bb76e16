// XPlane files for tests, written plane by plane (tsl/profiler/protobuf/xplane.proto).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace hone::trace {

// A stat: a number, a text, or a text by the number of a stat's name (`ref`).
struct XRef {
  std::string text;
};
using XValue = std::variant<int64_t, double, std::string, XRef>;
using XStats = std::vector<std::pair<std::string, XValue>>;

struct XEvent {
  std::string name;
  int64_t start_ns = 0, duration_ns = 0;
  XStats stats = {};
};

struct XLine {
  int64_t id = 0;
  std::string name;
  std::vector<XEvent> events = {};
  int64_t timestamp_ns = 0;
};

// What all events of a name share.
struct XKind {
  std::string display;
  XStats stats = {};
};

struct XPlane {
  std::string name;
  std::vector<XLine> lines = {};
  XStats stats = {};
  std::map<std::string, XKind> kinds = {};
};

class XSpaceWriter {
 public:
  // The bytes of one plane as a field of the file.
  static std::string plane(const XPlane& plane, int64_t id = 1) { return XSpaceWriter(plane, id).run(); }
  static std::string space(const std::vector<XPlane>& planes) {
    std::string bytes;
    int64_t id = 0;
    for (const XPlane& each : planes) bytes += plane(each, id++);
    return bytes;
  }

 private:
  XSpaceWriter(const XPlane& plane, int64_t id) : plane_(plane), id_(id) {}

  std::string run() {
    std::string bytes;
    protozero::pbf_writer message(bytes);
    if (id_ != 0) message.add_int64(1, id_);
    message.add_string(2, plane_.name);
    for (const XLine& line : plane_.lines) add_line(message, line);
    for (const auto& [name, kind] : plane_.kinds) number_of(kinds_, name);
    for (const auto& [name, number] : std::map(kinds_)) add_kind(message, name, number);
    for (const auto& [name, value] : plane_.stats) add_stat(message, 6, name, value);
    for (const auto& [name, number] : names_) {
      protozero::pbf_writer entry(message, 5);
      entry.add_int64(1, number);
      protozero::pbf_writer stat(entry, 2);
      stat.add_int64(1, number);
      stat.add_string(2, name);
    }
    std::string field;
    protozero::pbf_writer(field).add_message(1, bytes);
    return field;
  }

  static int64_t number_of(std::map<std::string, int64_t>& numbers, const std::string& name) {
    return numbers.try_emplace(name, static_cast<int64_t>(numbers.size()) + 1).first->second;
  }

  void add_line(protozero::pbf_writer& message, const XLine& line) {
    protozero::pbf_writer bytes(message, 3);
    bytes.add_int64(1, line.id);
    bytes.add_string(2, line.name);
    bytes.add_int64(3, line.timestamp_ns);
    for (const XEvent& event : line.events) {
      protozero::pbf_writer row(bytes, 4);
      row.add_int64(1, number_of(kinds_, event.name));
      row.add_int64(2, (event.start_ns - line.timestamp_ns) * 1000);
      row.add_int64(3, event.duration_ns * 1000);
      for (const auto& [name, value] : event.stats) add_stat(row, 4, name, value);
    }
  }

  void add_kind(protozero::pbf_writer& message, const std::string& name, int64_t number) {
    protozero::pbf_writer entry(message, 4);
    entry.add_int64(1, number);
    protozero::pbf_writer kind(entry, 2);
    kind.add_int64(1, number);
    kind.add_string(2, name);
    const auto known = plane_.kinds.find(name);
    if (known == plane_.kinds.end()) return;
    if (!known->second.display.empty()) kind.add_string(4, known->second.display);
    for (const auto& [stat, value] : known->second.stats) add_stat(kind, 5, stat, value);
  }

  void add_stat(protozero::pbf_writer& message, uint32_t field, const std::string& name,
                const XValue& value) {
    protozero::pbf_writer stat(message, field);
    stat.add_int64(1, number_of(names_, name));
    if (const auto* integer = std::get_if<int64_t>(&value)) stat.add_int64(4, *integer);
    if (const auto* real = std::get_if<double>(&value)) stat.add_double(2, *real);
    if (const auto* text = std::get_if<std::string>(&value)) stat.add_string(5, *text);
    if (const auto* ref = std::get_if<XRef>(&value))
      stat.add_uint64(7, static_cast<uint64_t>(number_of(names_, ref->text)));
  }

  const XPlane& plane_;
  int64_t id_;
  std::map<std::string, int64_t> kinds_, names_;
};

}  // namespace hone::trace
