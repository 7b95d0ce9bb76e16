// A graph for cuDNN that is composed of products, functions of elements, reductions and changed views, of which its engines
// recognise patterns: what attention with a mask or with a gradient is to the library (cudnn_attention.h). Who composes says
// what; here is how.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "cuda/cudnn_graph.h"

namespace hone::cuda {

class CudnnComposition : public CudnnGraph {
 protected:
  // A tensor of the graph under construction.
  struct Piece {
    CudnnDescriptorHandle tensor = nullptr;
    DType dtype = DType::kF32;
    Shape extents;
    std::vector<int64_t> strides;
  };

  CudnnComposition(std::shared_ptr<const Cudnn> library, bool rounds)
      : CudnnGraph(std::move(library), rounds) {}

  // In memory, where a run says that it is.
  Result<Piece> memory(int64_t uid, DType dtype, Shape extents, std::vector<int64_t> strides);
  // An f32 on the host.
  Result<Piece> number(int64_t uid);
  // What an operation leaves for the next; rows lie together unless `strides` says otherwise.
  Result<Piece> between(DType dtype, Shape extents, std::vector<int64_t> strides = {});

  // y = mode(x, b), computed in f32, in i32 for indices, and as a bool where numbers are compared.
  Status function(CudnnPointwise mode, const Piece& x, const Piece& b, const Piece& y);
  Status function(CudnnPointwise mode, const Piece& x, const Piece& y);
  // y = t ? x : b
  Status select(const Piece& x, const Piece& b, const Piece& t, const Piece& y);
  // Each element's own index along an axis.
  Status index(const Piece& x, int64_t axis, const Piece& y);
  // c = a · b for each of the outer axes; b may have fewer heads, each for as many of a's in turn.
  Status product(const Piece& a, const Piece& b, const Piece& c);
  // Over the axes of which y has one element.
  Status reduce(CudnnReduction what, const Piece& x, const Piece& y);
  // The same elements with other extents and strides.
  Status view(const Piece& x, const Piece& y);

 private:
  Status add_function(CudnnObject function, const Piece& x, const Piece* b, const Piece* t, const Piece& y);
  Result<CudnnObject> function_of(CudnnPointwise mode, CudnnDataType computed_in) const;
  // Finalises both; `descriptor` is what the operation does.
  Status add(CudnnDescriptor kind, CudnnAttribute descriptor_name, CudnnObject descriptor,
             std::initializer_list<std::pair<CudnnAttribute, const Piece*>> pieces);

  int64_t next_uid_ = 1000;  // of what lies between; makers number theirs below
};

}  // namespace hone::cuda
