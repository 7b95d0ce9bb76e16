// The numbers by which busy time is divided that several finders use or that were measured; what only one finder
// needs stands in its file.
#pragma once

namespace hone::analyze::device {

// The part of a roof that a good kernel reaches on real shapes: what a fix is promised to reach.
inline constexpr double kGoodProduct = 0.60;
inline constexpr double kGoodTraffic = 0.80;
// Products in 16 bits that libraries choose kernels for reach more than those in f32 or tf32.
inline constexpr double kGoodNarrowProduct = 0.70;

// Batch normalisation over channels-last images reaches about this part of the DRAM roof: its statistics take
// a pass of their own.
inline constexpr double kChannelsLastNorm = 0.35;
// A kernel over channels-first images that reaches this part of its roof is not slow for their order.
inline constexpr double kFastChannelsFirst = 0.70;
// What cuDNN's kernels over channels-last images reach, which keep what they normalise on the chip: 0.50 to
// 0.61 forward and backward, 32 to 256 channels in f32 on an H100.
inline constexpr double kGoodChannelsLastNorm = 0.55;

// Attention is a chain of products with a softmax between them: its kernels reach less.
inline constexpr double kGoodAttention = 0.40;
inline constexpr double kPoorAttention = 0.20;
// Over long sequences and without a mask in memory, kernels of attention reach about this part.
inline constexpr double kGoodMaskless = 0.60;

// Products that fill the device several times over reach about this part: while the last blocks of one wave
// end, those of the next begin.
inline constexpr double kManyWaves = 0.85;

// A product below this part of its roof is worth another look; above, it is what libraries reach.
inline constexpr double kPoorProduct = 0.35;
inline constexpr double kPoorTraffic = 0.30;
// A compiler's kernel that joins a reduction with passes in another order reaches less than a library's that
// does one of them: only far below that is another try promised anything.
inline constexpr double kPoorGenerated = 0.15;
// Works shorter than this are ruled by latency: no roof says anything about them.
inline constexpr double kShortWorkNs = 8'000;

// Adam by separate operators passes the parameters' memory about 20 times (read or written); one fused kernel
// reads p, g, m, v and writes p, m, v: 7.
inline constexpr double kFusedOptimizerShare = 0.35;
// From this many works a step on an optimizer is unfused.
inline constexpr int kUnfusedOptimizerWorks = 12;

// Works from this length on whose blocks leave most of the device idle are worth a word, whatever they need.
inline constexpr double kLongOfFewBlocksNs = 50'000;
inline constexpr double kFewBlocksShare = 0.125;  // of the multiprocessors

// Grouped convolutions below this part of their roof: neither a narrower type nor a larger batch was seen to help.
inline constexpr double kPoorGroupedConvolution = 0.10;

// Matrix units load 16 bytes at a time: 8 elements of 16 bits.
inline constexpr int kAlignment = 8;

// Fused attention does the products around the softmax in about this part of their time: under a causal mask
// half of them is left out, and its products are less regular.
inline constexpr double kFusedAttentionShare = 0.8;

// Rows are at least so long: what has fewer elements than a tensor by this factor is a value for each of its
// rows.
inline constexpr double kRowLength = 64;
// From this length on a chain of passes is a formula written out.
inline constexpr std::size_t kLongChain = 5;

// A concatenation of so many elements that adds at most this share to its first tensor copies it for little.
inline constexpr double kLargeAppend = 262'144;
inline constexpr double kLittleAppended = 0.1;

// No side of an ordinary kernel of a convolution is as long. Longer ones are worth a product of spectra where
// that, at the roofs, takes less than the arithmetic of the convolution by this factor.
inline constexpr int kLongKernelSide = 64;
inline constexpr double kSpectraWin = 3;
// How often a Fourier transform of PyTorch's reads or writes the signal: it is filled up with zeros, passes
// twice, is put together from halves; the product reads and writes the spectra, the result is scaled. Counted
// in the kernels of torch.fft.irfft(rfft(x, n) * rfft(y, n), n), n = 131072, on an H200, where they reach
// 0.83 of the DRAM roof.
inline constexpr double kSpectraPasses = 10;
// Gradients of input and filters: the gradient of a transform of real numbers is one of complex numbers.
inline constexpr double kSpectraGradients = 2;

// Matrices of attention from this length on are worth a fused kernel.
inline constexpr int kAttentionLength = 128;

}  // namespace hone::analyze::device
