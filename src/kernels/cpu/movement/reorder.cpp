// Layout reorders. Every layout is [outer channels][positions][inner channels] with inner = all (channels
// last), 1 (plain), 8 or 16: a piece of 16 channels and some positions is moved by a 2-D transpose or by row
// copies.
#include "kernels/cpu/movement/reorder.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/movement/transpose2d.h"
#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

// Channels that lie side by side at a position.
int64_t inner_channels(Layout layout, int64_t channels) {
  switch (layout) {
    case Layout::kChannelsLast:
      return channels;
    case Layout::kBlocked8:
      return 8;
    case Layout::kBlocked16:
      return 16;
    default:
      return 1;
  }
}

int64_t stored_channels(Layout layout, int64_t channels) {
  const int64_t inner = inner_channels(layout, channels);
  return inner == 0 ? 0 : (channels + inner - 1) / inner * inner;
}

// Where channel c, position p of an image starts.
int64_t place(Layout layout, int64_t channels, int64_t spatial, int64_t c, int64_t p) {
  const int64_t inner = inner_channels(layout, channels);
  return c / inner * inner * spatial + p * inner + c % inner;
}

constexpr int64_t kPiece = 16;        // channels handled at once
constexpr int64_t kPositions = 1024;  // positions handled at once

}  // namespace

Result<Reorder> Reorder::create(const ReorderDesc& desc) {
  if (desc.batch < 0 || desc.channels < 0 || desc.spatial < 0) return invalid("reorder: negative extent");
  Reorder kernel;
  kernel.desc_ = desc;
  return kernel;
}

// One piece: `channels` (at most 16, from a multiple of 16) of one image.
void Reorder::image(const float* in, float* out, int64_t first_channel, int64_t channels, int64_t first,
                    int64_t positions) const noexcept {
  const int64_t all = desc_.channels, spatial = desc_.spatial;
  const int64_t in_inner = inner_channels(desc_.from, all), out_inner = inner_channels(desc_.to, all);
  const int64_t step = std::min<int64_t>(
      {kPiece, std::max<int64_t>(in_inner, 1) == 1 ? kPiece : in_inner, out_inner == 1 ? kPiece : out_inner});
  for (int64_t c = first_channel; c < first_channel + channels; c += step) {
    const int64_t count = std::min(step, first_channel + channels - c);
    const float* from = in + place(desc_.from, all, spatial, c, first);
    float* to = out + place(desc_.to, all, spatial, c, first);
    if (in_inner == 1 && out_inner == 1) {
      for (int64_t k = 0; k < count; ++k) {
        std::memcpy(to + k * spatial, from + k * spatial,
                    static_cast<std::size_t>(positions) * sizeof(float));
      }
    } else if (in_inner == 1) {
      internal::transpose_2d(from, spatial, count, positions, to, out_inner);
    } else if (out_inner == 1) {
      internal::transpose_2d(from, in_inner, positions, count, to, spatial);
    } else {
      for (int64_t p = 0; p < positions; ++p) {
        std::memcpy(to + p * out_inner, from + p * in_inner, static_cast<std::size_t>(count) * sizeof(float));
      }
    }
  }
  const int64_t stored = stored_channels(desc_.to, all);
  const bool last = first_channel + channels == all;
  for (int64_t c = all; last && c < stored; ++c) {
    float* to = out + place(desc_.to, all, spatial, c, first);
    for (int64_t p = 0; p < positions; ++p) to[p * out_inner] = 0;
  }
}

void Reorder::execute(const float* in, float* out) const noexcept {
  const ReorderDesc& d = desc_;
  const int64_t pieces = (d.channels + kPiece - 1) / kPiece;
  const int64_t runs = (d.spatial + kPositions - 1) / kPositions;
  const int64_t work = std::min(kPositions, d.spatial) * kPiece;
  parallel_for(d.batch * pieces * runs, 16384 / std::max<int64_t>(work, 1) + 1,
               [&](int64_t begin, int64_t end, int) {
                 for (int64_t item = begin; item < end; ++item) {
                   const int64_t run = item % runs, piece = item / runs % pieces, n = item / runs / pieces;
                   image(in + n * stored_channels(d.from, d.channels) * d.spatial,
                         out + n * stored_channels(d.to, d.channels) * d.spatial, piece * kPiece,
                         std::min(kPiece, d.channels - piece * kPiece), run * kPositions,
                         std::min(kPositions, d.spatial - run * kPositions));
                 }
               });
}

}  // namespace hone::kernels
