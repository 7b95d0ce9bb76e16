// Field numbers are those of xla/service/hlo.proto and xla/xla_data.proto.
#include "trace/import/xplane/hlo.h"

#include <algorithm>
#include <array>

#include "trace/checked_reader.h"

namespace hone::trace::xplane {
namespace {

constexpr int kDeepestTuple = 8;  // tuples in tuples; what lies deeper counts nothing

// PrimitiveType. Types that hone does not know stand as those of their size.
constexpr std::array<DType, 34> kPrimitiveTypes = {
    DType::kUndefined,  DType::kBool, DType::kI8,        DType::kI16,        DType::kI32,
    DType::kI64,        DType::kU8,   DType::kU16,       DType::kU32,        DType::kU64,
    DType::kF16,        DType::kF32,  DType::kF64,       DType::kUndefined,  DType::kUndefined,
    DType::kC64,        DType::kBF16, DType::kUndefined, DType::kC128,       DType::kF8E5M2,
    DType::kF8E4M3FN,   DType::kI4,   DType::kU4,        DType::kF8E4M3FNUZ, DType::kF8E5M2FNUZ,
    DType::kF8E4M3FNUZ, DType::kI2,   DType::kU2,        DType::kF8E4M3FN,   DType::kF8E5M2,
    DType::kI2,         DType::kU2,   DType::kF4E2M1,    DType::kF8E8M0,
};

HloShape read_shape(CheckedReader message, int depth) {
  HloShape shape;
  while (message.next()) {
    switch (message.tag()) {
      case 2: {
        const int32_t type = message.get_int32();
        if (type > 0 && type < static_cast<int32_t>(kPrimitiveTypes.size()))
          shape.dtype = kPrimitiveTypes[static_cast<std::size_t>(type)];
        break;
      }
      case 3:
        message.append_integers(shape.dims);
        break;
      case 4: {
        const std::string_view part = message.get_text();
        if (depth < kDeepestTuple) shape.parts.push_back(read_shape(CheckedReader(part), depth + 1));
        break;
      }
      default:
        message.skip();
    }
  }
  return shape;
}

void read_metadata(CheckedReader message, HloInstruction& instruction) {
  while (message.next()) {
    switch (message.tag()) {
      case 2:
        instruction.op_name = message.get_text();
        break;
      case 3:
        instruction.file = message.get_text();
        break;
      case 4:
        instruction.line = message.get_int32();
        break;
      case 15:
        instruction.frame = message.get_int32();
        break;
      default:
        message.skip();
    }
  }
}

HloWindowDim read_window_dim(CheckedReader message) {
  HloWindowDim dim;
  dim.size = 0;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        dim.size = message.get_int64();
        break;
      case 2:
        dim.stride = message.get_int64();
        break;
      case 3:
        dim.padding_low = message.get_int64();
        break;
      case 4:
        dim.padding_high = message.get_int64();
        break;
      case 5:
        dim.dilation = message.get_int64();
        break;
      case 6:
        dim.base_dilation = message.get_int64();
        break;
      default:
        message.skip();
    }
  }
  return dim;
}

std::vector<HloWindowDim> read_window(CheckedReader message) {
  std::vector<HloWindowDim> dims;
  while (message.next()) {
    if (message.tag() == 1)
      dims.push_back(read_window_dim(CheckedReader(message.get_text())));
    else
      message.skip();
  }
  return dims;
}

HloConvolutionDims read_convolution(CheckedReader message) {
  HloConvolutionDims dims;
  while (message.next()) {
    switch (message.tag()) {
      case 4:
        dims.kernel_output_feature = message.get_int64();
        break;
      case 6:
        message.append_integers(dims.kernel_spatial);
        break;
      case 8:
        dims.input_feature = message.get_int64();
        break;
      case 11:
        message.append_integers(dims.input_spatial);
        break;
      case 12:
        message.append_integers(dims.output_spatial);
        break;
      default:
        message.skip();
    }
  }
  return dims;
}

// PrecisionConfig: the highest precision of an operand, or an algorithm by name.
bool asks_for_precision(CheckedReader message) {
  constexpr int64_t kHighest = 2;
  std::vector<int64_t> operands;
  bool algorithm = false;
  while (message.next()) {
    if (message.tag() == 1)
      message.append_integers(operands);
    else if (message.tag() == 2)
      algorithm = message.get_int64() != 0;
    else
      message.skip();
  }
  return algorithm || std::find(operands.begin(), operands.end(), kHighest) != operands.end();
}

HloInstruction read_instruction(CheckedReader message) {
  HloInstruction result;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        result.name = message.get_text();
        break;
      case 2:
        result.opcode = message.get_text();
        break;
      case 3:
        result.shape = read_shape(CheckedReader(message.get_text()), 0);
        break;
      case 7:
        read_metadata(CheckedReader(message.get_text()), result);
        break;
      case 9:
        result.parameter = message.get_int64();
        break;
      case 13:
        result.tuple_index = message.get_int64();
        break;
      case 15:
        result.window = read_window(CheckedReader(message.get_text()));
        break;
      case 16:
        result.convolution = read_convolution(CheckedReader(message.get_text()));
        break;
      case 28:
        result.custom_call_target = message.get_text();
        break;
      case 30: {
        CheckedReader dot(message.get_text());
        while (dot.next()) {
          if (dot.tag() == 1)
            dot.append_integers(result.contracted);
          else
            dot.skip();
        }
        break;
      }
      case 35:
        result.id = message.get_int64();
        break;
      case 36:
        message.append_integers(result.operands);
        break;
      case 38:
        message.append_integers(result.called);
        break;
      case 51:
        result.asks_for_precision = asks_for_precision(CheckedReader(message.get_text()));
        break;
      case 43:
        result.backend_config = message.get_text();
        break;
      default:
        message.skip();
    }
  }
  return result;
}

HloComputation read_computation(CheckedReader message) {
  HloComputation result;
  while (message.next()) {
    switch (message.tag()) {
      case 2:
        result.instructions.push_back(read_instruction(CheckedReader(message.get_text())));
        break;
      case 5:
        result.id = message.get_int64();
        break;
      case 6:
        result.root = message.get_int64();
        break;
      default:
        message.skip();
    }
  }
  return result;
}

// StackFrameIndexProto: tables that name each other's rows, from 1.
class FrameTables {
 public:
  void read(CheckedReader message) {
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          files_.push_back(message.get_text());
          break;
        case 2:
          functions_.push_back(message.get_text());
          break;
        case 3:
          places_.push_back(read_place(CheckedReader(message.get_text())));
          break;
        case 4: {
          CheckedReader frame(message.get_text());
          int32_t place = 0;
          while (frame.next()) {
            if (frame.tag() == 1)
              place = frame.get_int32();
            else
              frame.skip();
          }
          frames_.push_back(place);
          break;
        }
        default:
          message.skip();
      }
    }
  }

  std::vector<HloFrame> frames() const {
    std::vector<HloFrame> result;
    for (const int32_t place : frames_) {
      HloFrame& frame = result.emplace_back();
      if (!has(places_, place)) continue;
      const Place& at = places_[static_cast<std::size_t>(place) - 1];
      frame.line = at.line;
      if (has(files_, at.file)) frame.file = files_[static_cast<std::size_t>(at.file) - 1];
      if (has(functions_, at.function))
        frame.function = functions_[static_cast<std::size_t>(at.function) - 1];
    }
    return result;
  }

 private:
  struct Place {
    int32_t file = 0, function = 0, line = 0;
  };

  template <typename Row>
  static bool has(const std::vector<Row>& table, int32_t number) {
    return number > 0 && static_cast<std::size_t>(number) <= table.size();
  }

  static Place read_place(CheckedReader message) {
    Place place;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          place.file = message.get_int32();
          break;
        case 2:
          place.function = message.get_int32();
          break;
        case 3:
          place.line = message.get_int32();
          break;
        default:
          message.skip();
      }
    }
    return place;
  }

  std::vector<std::string_view> files_, functions_;
  std::vector<Place> places_;
  std::vector<int32_t> frames_;
};

HloModule read_module(CheckedReader message) {
  HloModule module;
  FrameTables frames;
  while (message.next()) {
    switch (message.tag()) {
      case 1:
        module.name = message.get_text();
        break;
      case 3:
        module.computations.push_back(read_computation(CheckedReader(message.get_text())));
        break;
      case 17:
        frames.read(CheckedReader(message.get_text()));
        break;
      default:
        message.skip();
    }
  }
  module.frames = frames.frames();
  return module;
}

double elements_of(const std::vector<int64_t>& dims) {
  double product = 1;
  for (const int64_t dim : dims) product *= static_cast<double>(std::max<int64_t>(dim, 0));
  return product;
}

}  // namespace

double HloShape::elements() const {
  if (parts.empty()) return dtype == DType::kUndefined ? 0 : elements_of(dims);
  double sum = 0;
  for (const HloShape& part : parts) sum += part.elements();
  return sum;
}

double HloShape::bytes() const {
  if (parts.empty()) return elements() * dtype_bits(dtype) / 8;
  double sum = 0;
  for (const HloShape& part : parts) sum += part.bytes();
  return sum;
}

HloFrame HloModule::place_of(const HloInstruction& instruction) const {
  if (!instruction.file.empty()) return {instruction.file, {}, instruction.line};
  if (instruction.frame > 0 && static_cast<std::size_t>(instruction.frame) <= frames.size())
    return frames[static_cast<std::size_t>(instruction.frame) - 1];
  return {};
}

HloModule read_hlo(std::string_view bytes) {
  CheckedReader message(bytes);
  HloModule module;
  while (message.next()) {
    if (message.tag() == 1)
      module = read_module(CheckedReader(message.get_text()));
    else
      message.skip();
  }
  return module;
}

}  // namespace hone::trace::xplane
