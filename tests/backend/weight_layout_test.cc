#include "backend/weight_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace moxie::backend {
namespace {

using tensor::DType;
using tensor::Packing;

constexpr WeightLayout kBf16Panels = {Packing::kPanel32, DType::kBF16};
constexpr WeightLayout kF32Panels = {Packing::kPanel32, DType::kF32};

TEST(WeightLayout, BytesCountThePadding) {
  const std::vector<int64_t> matrix = {33, 7}, experts = {4, 33, 7}, vector = {7};
  EXPECT_EQ(kBf16Panels.Bytes(matrix), 64 * 8 * 2);
  EXPECT_EQ(kBf16Panels.Bytes(experts), 4 * 64 * 8 * 2);
  EXPECT_EQ((WeightLayout{Packing::kPlain, DType::kF32}.Bytes(experts)), 4 * 33 * 7 * 4);
  EXPECT_EQ((WeightLayout{Packing::kPlain, DType::kF32}.Bytes(vector)), 7 * 4);
}

TEST(WeightLayout, SaysWhatItIs) {
  EXPECT_EQ(ToString(kBf16Panels), "bf16 panels of 32");
  EXPECT_EQ(ToString(WeightLayout{}), "f32 plain");
}

// Element (n, k) is at the documented place; padding is zero; parts packed apart give the same
// bytes.
TEST(PackRows, PutsElementsInPanels) {
  for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {32, 2}, {33, 7}, {100, 64}}) {
    std::vector<float> source(static_cast<size_t>(n * k));
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<float>(i + 1);
    const auto* src = reinterpret_cast<const std::byte*>(source.data());
    const int64_t elements = tensor::PackedElements(Packing::kPanel32, n, k);
    std::vector<float> packed(static_cast<size_t>(elements), -1.0f), parts(packed);
    PackRows(kF32Panels, src, DType::kF32, n, k, 0, n, reinterpret_cast<std::byte*>(packed.data()));
    double sum = 0;
    for (float v : packed) sum += v;
    for (int64_t i = 0; i < n * k; ++i) {
      const int64_t row = i / k, col = i % k;
      const int64_t at = (row / 32 * ((k + 1) / 2) + col / 2) * 64 + row % 32 * 2 + col % 2;
      ASSERT_EQ(packed[at], source[i]) << row << ", " << col;
      sum -= source[i];
    }
    EXPECT_EQ(sum, 0.0) << "padding is not zero";
    for (int64_t begin = 0; begin < n; begin += 32) {
      PackRows(kF32Panels, src + begin * k * 4, DType::kF32, n, k, begin, std::min(n, begin + 32),
               reinterpret_cast<std::byte*>(parts.data()));
    }
    EXPECT_EQ(parts, packed);
  }
}

// bf16 copied as it is takes another way than a conversion: the same elements in the same places.
TEST(PackRows, CopiesWhatConversionGives) {
  for (auto [n, k] : {std::pair<int64_t, int64_t>{3, 7}, {37, 10}, {64, 9}, {70, 200}}) {
    std::vector<float> f32(static_cast<size_t>(n * k));
    std::vector<uint16_t> bf16(f32.size());
    for (size_t i = 0; i < f32.size(); ++i) {
      f32[i] = static_cast<float>(i % 251) - 100.0f;
      bf16[i] = tensor::F32ToBF16(f32[i]);
    }
    std::vector<uint16_t> a(static_cast<size_t>(tensor::PackedElements(Packing::kPanel32, n, k)),
                            7),
        b(a.size(), 9);
    PackRows(kBf16Panels, reinterpret_cast<const std::byte*>(f32.data()), DType::kF32, n, k, 0, n,
             reinterpret_cast<std::byte*>(a.data()));
    PackRows(kBf16Panels, reinterpret_cast<const std::byte*>(bf16.data()), DType::kBF16, n, k, 0, n,
             reinterpret_cast<std::byte*>(b.data()));
    EXPECT_EQ(a, b) << n << " x " << k;
  }
}

// 1.0 and -2.5 are exact in every type.
TEST(PackRows, Converts) {
  const std::vector<float> f32 = {1.0f, -2.5f};
  const std::vector<uint16_t> f16 = {0x3C00, 0xC100}, bf16 = {0x3F80, 0xC020};
  auto pack = [&](DType from, const void* src, DType to, void* dst) {
    PackRows({Packing::kPlain, to}, static_cast<const std::byte*>(src), from, 1, 2, 0, 1,
             static_cast<std::byte*>(dst));
  };
  const std::pair<DType, const void*> sources[] = {
      {DType::kF32, f32.data()}, {DType::kF16, f16.data()}, {DType::kBF16, bf16.data()}};
  for (const auto& [type, data] : sources) {
    std::vector<float> as_f32(2);
    std::vector<uint16_t> as_bf16(2);
    pack(type, data, DType::kF32, as_f32.data());
    pack(type, data, DType::kBF16, as_bf16.data());
    EXPECT_EQ(as_f32, f32);
    EXPECT_EQ(as_bf16, bf16);
  }
}

TEST(PackRows, RoundsToNearestEvenAndReadsUnaligned) {
  std::vector<std::byte> file(1 + 3 * 4);
  const float values[3] = {1.00390625f /* half way, to even: 1.0 */, 1.01171875f /* to 1.015625 */,
                           3.4e38f};
  std::memcpy(file.data() + 1, values, sizeof(values));
  std::vector<uint16_t> out(3);
  PackRows({Packing::kPlain, DType::kBF16}, file.data() + 1, DType::kF32, 1, 3, 0, 1,
           reinterpret_cast<std::byte*>(out.data()));
  EXPECT_EQ(out, (std::vector<uint16_t>{0x3F80, 0x3F82, 0x7F80}));
}

}  // namespace
}  // namespace moxie::backend
