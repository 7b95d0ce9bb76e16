#include "trace/link/strides_by_gradients.h"

#include <string>

#include <gtest/gtest.h>

#include "trace/link/fabricate.h"

namespace hone::trace::link {
namespace {

using fabricate::Program;

TEST(StridesByGradients, AreThoseThatGiveTheGradientsShape) {
  Program program;
  const uint32_t stem = program.op(program.main, "aten::cudnn_convolution", 0, 1,
                                   "f32[2,3,224,224] f32[64,3,7,7] - - - - - - -");
  const uint32_t grouped =
      program.op(program.main, "aten::convolution", 1, 1, "f32[2,8,10,11] f32[8,2,3,3] - - - - - - -");
  program.op(program.backward, "aten::convolution_backward", 2, 1,
             "f32[2,8,10,11] f32[2,8,10,11] f32[8,2,3,3] - - - - - - - -");
  program.op(program.backward, "aten::convolution_backward", 3, 1,
             "f32[2,64,112,112] f32[2,3,224,224] f32[64,3,7,7] - - - - - - - -");
  strides_by_gradients(program.trace);
  EXPECT_EQ(inputs_of(program, stem), "f32[2,3,224,224] f32[64,3,7,7] =[3,3] =[2,2] =[1,1] =1 - - -");
  EXPECT_EQ(inputs_of(program, grouped), "f32[2,8,10,11] f32[8,2,3,3] - =[1,1] =[1,1] =[1,1] - =[0,0] =4");
}

TEST(StridesByGradients, AreNotGuessed) {
  Program program;
  const uint32_t two =
      program.op(program.main, "aten::cudnn_convolution", 0, 1, "f32[2,3,8,8] f32[4,3,1,1] - - - - - - -");
  const uint32_t none =
      program.op(program.main, "aten::cudnn_convolution", 1, 1, "f32[2,3,9,9] f32[4,3,1,1] - - - - - - -");
  const uint32_t recorded = program.op(program.main, "aten::cudnn_convolution", 2, 1,
                                       "f32[2,3,7,7] f32[4,3,1,1] =[0,0] =[2,2] =[1,1] =1 - - -");
  for (const char* gradient :
       {"f32[2,4,8,8] f32[2,3,8,8]", "f32[2,4,4,4] f32[2,3,8,8]", "f32[2,4,7,7] f32[2,3,7,7]"})
    program.op(program.backward, "aten::convolution_backward", 3, 1,
               std::string(gradient) + " f32[4,3,1,1] - - - - - - - -");
  strides_by_gradients(program.trace);
  EXPECT_EQ(inputs_of(program, two), "f32[2,3,8,8] f32[4,3,1,1] - - - - - - -");
  EXPECT_EQ(inputs_of(program, none), "f32[2,3,9,9] f32[4,3,1,1] - - - - - - -");
  EXPECT_EQ(inputs_of(program, recorded), "f32[2,3,7,7] f32[4,3,1,1] =[0,0] =[2,2] =[1,1] =1 - - -");
}

}  // namespace
}  // namespace hone::trace::link
