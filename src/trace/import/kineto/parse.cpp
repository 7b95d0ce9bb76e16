#include "trace/import/kineto/parse.h"

#include <cstring>

#include <simdjson.h>

#include "trace/import/kineto/mend.h"

namespace hone::trace::kineto {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

constexpr std::size_t kMostMended = std::size_t{4} << 20;  // bytes: longer texts are rubbish, not events

// Whether the key that begins at `key` (after its quote) is `name`; `name` ends with a quote.
template <std::size_t N>
bool is(const char* key, const char (&name)[N]) {
  return std::memcmp(key, name, N - 1) == 0;
}

std::string_view trimmed(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  return token;
}

// The text of a list or object.
error_code nested(ondemand::value& value, char first, std::string_view& text) {
  if (first == '[') {
    ondemand::array array;
    if (const error_code error = value.get_array().get(array)) return error;
    return array.raw_json().get(text);
  }
  ondemand::object object;
  if (const error_code error = value.get_object().get(object)) return error;
  return object.raw_json().get(text);
}

// Sets `token` to the value's text. Skipping a value checks nothing: a comma or a bracket in its place must
// be seen here.
error_code take(ondemand::value& value, std::string_view& token) {
  token = value.raw_json_token();
  const char first = token.empty() ? ',' : token[0];
  if (first == '[' || first == '{') return nested(value, first, token);
  if (first == ',' || first == '}' || first == ']' || first == ':') return simdjson::TAPE_ERROR;
  token = trimmed(token);
  return simdjson::SUCCESS;
}

// The member of `event` that the key of an event's "args" fills; null: none.
std::string_view* argument(const char* key, Event& event) {
  switch (key[0]) {
    case 'A':
      return is(key, "Addr\"") ? &event.address : nullptr;
    case 'B':
      return is(key, "Bytes\"") ? &event.taken : nullptr;
    case 'D':
      return is(key, "Device Id\"")     ? &event.memory_device
             : is(key, "Device Type\"") ? &event.memory_kind
                                        : nullptr;
    case 'T':
      return is(key, "Total Allocated\"")  ? &event.total_allocated
             : is(key, "Total Reserved\"") ? &event.total_reserved
                                           : nullptr;
    case 'E':
      return is(key, "External id\"") ? &event.external : nullptr;
    case 'e':
      return is(key, "external id\"") ? &event.external : nullptr;
    case 'S':
      return is(key, "Sequence number\"") ? &event.sequence : nullptr;
    case 'c':
      return is(key, "correlation\"") ? &event.correlation : nullptr;
    case 'd':
      return is(key, "device\"") ? &event.device : is(key, "dtype\"") ? &event.dtype : nullptr;
    case 's':
      return is(key, "stream\"") ? &event.stream : is(key, "shared memory\"") ? &event.shared : nullptr;
    case 'r':
      return is(key, "registers per thread\"") ? &event.registers : nullptr;
    case 'g':
      return is(key, "grid\"") ? &event.grid : is(key, "graph node id\"") ? &event.node : nullptr;
    case 'b':
      return is(key, "block\"") ? &event.block : is(key, "bytes\"") ? &event.bytes : nullptr;
    case 'C':
      return is(key, "Collective name\"") ? &event.collective : nullptr;
    case 'G':
      return is(key, "Group size\"") ? &event.group_size : nullptr;
    case 'I':
      return is(key, "In msg nelems\"") ? &event.elements_in : nullptr;
    case 'O':
      return is(key, "Out msg nelems\"") ? &event.elements_out : nullptr;
    case 'P':
      return is(key, "Process Group Name\"")          ? &event.group
             : is(key, "Process Group Description\"") ? &event.group_description
             : is(key, "Process Group Ranks\"")       ? &event.group_ranks
                                                      : nullptr;
    case 'n':
      return is(key, "name\"") ? &event.label : nullptr;
    case 'l':
      return is(key, "labels\"") ? &event.label : nullptr;
    default:
      return nullptr;
  }
}

bool describes_inputs(const char* key) { return is(key, "Input ") || is(key, "Concrete Inputs\""); }

error_code read_arguments(ondemand::value& value, Event& event) {
  ondemand::object arguments;
  if (const error_code error = value.get_object().get(arguments)) return error;
  const char* inputs_begin = nullptr;
  const char* inputs_end = nullptr;
  for (auto each : arguments) {
    ondemand::field field;
    if (const error_code error = std::move(each).get(field)) return error;
    const char* key = field.key().raw();
    std::string_view token;
    if (const error_code error = take(field.value(), token)) return error;
    if (std::string_view* member = argument(key, event)) {
      *member = token;
    } else if (describes_inputs(key)) {
      if (inputs_begin == nullptr) inputs_begin = key - 1;
      inputs_end = token.data() + token.size();
    }
  }
  if (inputs_begin != nullptr)
    event.inputs = trimmed({inputs_begin, static_cast<std::size_t>(inputs_end - inputs_begin)});
  return simdjson::SUCCESS;
}

// The member of `event` that the key of an event fills; null: none.
std::string_view* member(const char* key, Event& event) {
  switch (key[0]) {
    case 'p':
      return is(key, "ph\"") ? &event.phase : is(key, "pid\"") ? &event.pid : nullptr;
    case 't':
      return is(key, "ts\"") ? &event.start : is(key, "tid\"") ? &event.tid : nullptr;
    case 'c':
      return is(key, "cat\"") ? &event.category : nullptr;
    case 'n':
      return is(key, "name\"") ? &event.name : nullptr;
    case 'd':
      return is(key, "dur\"") ? &event.duration : nullptr;
    case 'i':
      return is(key, "id\"") ? &event.id : nullptr;
    default:
      return nullptr;
  }
}

error_code read_event(ondemand::object& object, Event& event) {
  for (auto each : object) {
    ondemand::field field;
    if (const error_code error = std::move(each).get(field)) return error;
    const char* key = field.key().raw();
    if (is(key, "args\"") && field.value().raw_json_token()[0] == '{') {
      if (const error_code error = read_arguments(field.value(), event)) return error;
      continue;
    }
    std::string_view token;
    if (const error_code error = take(field.value(), token)) return error;
    if (std::string_view* filled = member(key, event)) *filled = token;
  }
  return simdjson::SUCCESS;
}

// Where the next event may stand: after the event at the start of `events`, if one was read there.
std::size_t after_event(std::string_view events) {
  const std::size_t end = object_end(events);
  return end == std::string_view::npos || events[0] != '{' ? 0 : end;
}

// What may stand between events: control characters are damage that costs none of them.
bool is_gap(char c) { return static_cast<unsigned char>(c) <= ' ' || c == ','; }

}  // namespace

struct ChunkParser::State {
  ondemand::parser parser;
  std::string scratch;  // one event with padding
};

ChunkParser::ChunkParser() : state_(std::make_unique<State>()) {}
ChunkParser::~ChunkParser() = default;
ChunkParser::ChunkParser(ChunkParser&&) noexcept = default;
ChunkParser& ChunkParser::operator=(ChunkParser&&) noexcept = default;

void ChunkParser::parse(const Chunk& chunk, EventSink& sink) {
  const std::size_t read = parse_whole(chunk, sink);
  if (read != std::string_view::npos) parse_each(chunk, read, sink);
}

// Returns npos if all of it was read; else the place of the event that stopped it.
std::size_t ChunkParser::parse_whole(const Chunk& chunk, EventSink& sink) {
  ondemand::document document;
  ondemand::value list;
  ondemand::array events;
  const auto padded = chunk.text.size() + kPadding;
  if (state_->parser.iterate(chunk.text.data(), chunk.text.size(), padded).get(document)) return 0;
  const bool wrapped = chunk.text[0] == '{';
  ondemand::object file;
  if (wrapped) {
    if (document.get_object().get(file) || file.find_field("e").get(list) || list.get_array().get(events))
      return 0;
  } else if (document.get_array().get(events)) {
    return 0;
  }
  std::size_t done = 0;
  for (auto each : events) {
    ondemand::value value;
    ondemand::object object;
    if (std::move(each).get(value)) return done + after_event(chunk.events.substr(done));
    const char* begin = value.raw_json_token().data();
    done = static_cast<std::size_t>(begin - chunk.events.data());
    Event event;
    if (value.get_object().get(object) || read_event(object, event)) return done;
    sink.add(event, chunk.offset + done, {begin, std::min<std::size_t>(chunk.events.size() - done, 160)});
  }
  if (!chunk.last) return std::string_view::npos;
  const char* rest = nullptr;
  closed_ = true;
  if (wrapped && !document.current_location().get(rest))
    footer_.assign(rest, static_cast<std::size_t>(chunk.text.data() + chunk.text.size() - rest));
  return std::string_view::npos;
}

void ChunkParser::parse_each(const Chunk& chunk, std::size_t at, EventSink& sink) {
  const std::string_view events = chunk.events;
  while (true) {
    while (at < events.size() && is_gap(events[at])) ++at;
    if (at >= events.size()) return;
    if (chunk.last && events[at] == ']') {
      closed_ = true;
      footer_ = events.substr(at + 1);
      return;
    }
    const std::size_t next = std::min(find_event(events, at + 1), events.size());
    const std::string_view piece = events.substr(at, next - at);
    if (piece[0] != '{') {
      sink.faults.lost.add(chunk.offset + at, piece);
    } else if (const std::size_t end = object_end(piece);
               end != std::string_view::npos && parse_one(piece.substr(0, end), chunk.offset + at, sink)) {
      at += end;
      continue;
    } else {
      mend_one(piece, chunk.offset + at, chunk.last && next == events.size(), sink);
    }
    at = next;
  }
}

bool ChunkParser::parse_one(std::string_view text, uint64_t offset, EventSink& sink) {
  std::string& scratch = state_->scratch;
  scratch.assign(text);
  scratch.append(kPadding, '\0');
  ondemand::document document;
  ondemand::object object;
  Event event;
  if (state_->parser.iterate(scratch.data(), text.size(), scratch.size()).get(document)) return false;
  if (document.get_object().get(object) || read_event(object, event)) return false;
  sink.add(event, offset, text);
  return true;
}

void ChunkParser::mend_one(std::string_view text, uint64_t offset, bool ends_file, EventSink& sink) {
  while (!text.empty() && is_gap(text.back())) text.remove_suffix(1);
  if (text.size() > kMostMended) return sink.faults.lost.add(offset, text);
  const std::string whole = mended(text);
  const std::size_t end = object_end(whole);
  if (end == std::string_view::npos || !parse_one(std::string_view(whole).substr(0, end), offset, sink)) {
    (ends_file ? sink.faults.cut_off : sink.faults.lost).add(offset, text);
    return;
  }
  sink.faults.repaired.add(offset, text);
  if (ends_file && end < whole.size() && whole[end] == ']') {  // it was the last one, and whole
    closed_ = true;
    footer_ = whole.substr(end + 1);
  }
}

}  // namespace hone::trace::kineto
