#include "trace/perfetto/annotation.h"

#include <protozero/pbf_writer.hpp>

#include "trace/checked_reader.h"
#include "trace/perfetto/fields.h"

namespace hone::trace::perfetto {
namespace {

constexpr int kMaxDepth = 8;

struct ValueWriter {
  protozero::pbf_writer& writer;

  void operator()(std::monostate) const {}
  void operator()(int64_t value) const { writer.add_int64(AnnotationField::int_value, value); }
  void operator()(double value) const { writer.add_double(AnnotationField::double_value, value); }
  void operator()(const std::string& value) const { writer.add_string(AnnotationField::string_value, value); }
  void operator()(const Annotation::Dict& dict) const {
    for (const Annotation& entry : dict.entries)
      writer.add_message(AnnotationField::dict_entries, encode(entry));
  }
  void operator()(const Annotation::Array& array) const {
    for (const Annotation& item : array.items)
      writer.add_message(AnnotationField::array_values, encode(item));
  }
};

// Appends to a dict or array, which begins to be one with its first element.
template <typename List>
List& as_list(Annotation& annotation) {
  if (!std::holds_alternative<List>(annotation.value)) annotation.value = List{};
  return std::get<List>(annotation.value);
}

}  // namespace

const Annotation* Annotation::find(std::string_view entry) const {
  const auto* dict = std::get_if<Dict>(&value);
  if (dict == nullptr) return nullptr;
  for (const Annotation& candidate : dict->entries)
    if (candidate.name == entry) return &candidate;
  return nullptr;
}

int64_t Annotation::integer(std::string_view entry) const {
  const Annotation* found = find(entry);
  const auto* number = found == nullptr ? nullptr : std::get_if<int64_t>(&found->value);
  return number == nullptr ? 0 : *number;
}

double Annotation::real(std::string_view entry) const {
  const Annotation* found = find(entry);
  const auto* number = found == nullptr ? nullptr : std::get_if<double>(&found->value);
  return number == nullptr ? 0 : *number;
}

std::string Annotation::text(std::string_view entry) const {
  const Annotation* found = find(entry);
  const auto* string = found == nullptr ? nullptr : std::get_if<std::string>(&found->value);
  return string == nullptr ? std::string() : *string;
}

const std::vector<Annotation>& Annotation::items(std::string_view entry) const {
  static const std::vector<Annotation> kNone;
  const Annotation* found = find(entry);
  const auto* array = found == nullptr ? nullptr : std::get_if<Array>(&found->value);
  return array == nullptr ? kNone : array->items;
}

std::string encode(const Annotation& annotation) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  if (!annotation.name.empty()) writer.add_string(AnnotationField::name, annotation.name);
  std::visit(ValueWriter{writer}, annotation.value);
  return bytes;
}

Annotation decode(protozero::data_view bytes, int depth) {
  if (depth > kMaxDepth) throw protozero::invalid_length_exception();
  Annotation annotation;
  CheckedReader reader(bytes);
  while (reader.next()) {
    switch (reader.tag()) {
      case AnnotationField::name:
        annotation.name = reader.get_string();
        break;
      case AnnotationField::uint_value:
        annotation.value = static_cast<int64_t>(reader.get_uint64());
        break;
      case AnnotationField::int_value:
        annotation.value = reader.get_int64();
        break;
      case AnnotationField::double_value:
        annotation.value = reader.get_double();
        break;
      case AnnotationField::string_value:
        annotation.value = reader.get_string();
        break;
      case AnnotationField::dict_entries:
        as_list<Annotation::Dict>(annotation).entries.push_back(decode(reader.get_view(), depth + 1));
        break;
      case AnnotationField::array_values:
        as_list<Annotation::Array>(annotation).items.push_back(decode(reader.get_view(), depth + 1));
        break;
      default:
        reader.skip();
    }
  }
  return annotation;
}

}  // namespace hone::trace::perfetto
