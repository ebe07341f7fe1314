#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensor/view.h"

namespace moxie::tensor {
namespace {

TEST(Shape, SymbolicDimensionsBindToExtents) {
  Shape shape{Dim{2, DimVar::kTokens}, 64};
  Extents e;
  e[DimVar::kTokens] = 7;
  EXPECT_EQ(ToString(shape), "[2T,64]");
  EXPECT_EQ(shape.Elements(e), 2 * 7 * 64);
  EXPECT_EQ((TensorType{DType::kBF16, shape}).Bytes(e), 2 * 2 * 7 * 64);
  EXPECT_FALSE(shape == (Shape{2, 64}));
}

TEST(DType, Bf16RoundsToNearestEvenAndKeepsNaN) {
  EXPECT_EQ(F32ToBF16(1.0f), 0x3F80);
  EXPECT_EQ(F32ToBF16(1.00390625f), 0x3F80);  // half way, to even
  EXPECT_EQ(F32ToBF16(1.01171875f), 0x3F82);  // half way, to even
  EXPECT_TRUE(std::isnan(BF16ToF32(F32ToBF16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(BF16ToF32(F32ToBF16(std::numeric_limits<float>::infinity())),
            std::numeric_limits<float>::infinity());
}

TEST(DType, F16CoversSubnormalsInfinityAndNaN) {
  EXPECT_EQ(F16ToF32(0x3C00), 1.0f);
  EXPECT_EQ(F16ToF32(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(F16ToF32(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(F16ToF32(0x7E00)));
}

TEST(PackedElements, PadsRowsToPanelsAndColumnsToPairs) {
  EXPECT_EQ(PackedElements(Packing::kPanel32, 33, 5), 64 * 6);
  EXPECT_EQ(PackedElements(Packing::kPlain, 33, 5), 165);
}

}  // namespace
}  // namespace moxie::tensor
