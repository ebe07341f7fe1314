// A SentencePiece model built here; the ids are those of the sentencepiece package for its bytes.
#include "text/sentencepiece.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/text/data.h"

namespace moxie::text {
namespace {

using testing::ElementsAre;

std::string Varint(uint64_t n) {
  std::string out;
  for (; n > 127; n >>= 7) out += static_cast<char>(n | 128);
  return out + static_cast<char>(n);
}
std::string Bytes(int field, const std::string& value) {
  return Varint(static_cast<uint64_t>(field << 3 | 2)) + Varint(value.size()) + value;
}
std::string Number(int field, uint64_t value) {
  return Varint(static_cast<uint64_t>(field << 3)) + Varint(value);
}
std::string Piece(const std::string& text, float score, PieceType type = PieceType::kNormal) {
  std::string bits(sizeof score, '\0');
  std::memcpy(bits.data(), &score, sizeof score);
  return Bytes(1,
               Bytes(1, text) + Varint(2 << 3 | 5) + bits + Number(3, static_cast<uint64_t>(type)));
}

// Spaces stay as they are: no prefix, no runs cut.
std::string ModelBytes(SentencePieceModel::Kind kind) {
  std::string pieces =
      Piece("<unk>", 0, PieceType::kUnknown) + Piece("<s>", 0, PieceType::kControl) +
      Piece("</s>", 0, PieceType::kControl) + Piece("▁", -2) + Piece("a", -2.1f) +
      Piece("b", -2.3f) + Piece("▁▁", 0, PieceType::kUserDefined) + Piece("V", -2.7f) +
      Piece("I", -2.2f) + Piece("VI", -4.05f) + Piece("ab", -9);
  std::string trainer = Number(3, static_cast<uint64_t>(kind)) + Number(41, 1) + Number(42, 2);
  std::string normalizer = Bytes(1, "identity") + Number(3, 0) + Number(4, 0) + Number(5, 1);
  return pieces + Bytes(2, trainer) + Bytes(3, normalizer);
}

TEST(SentencePieceTest, UnigramTakesUserDefinedPiecesByTheirScore) {
  auto t = Tokenizer::FromSentencePiece(ModelBytes(SentencePieceModel::Kind::kUnigram),
                                        "tokenizer.model");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_THAT(EncodeOnly(**t, "a  b"), ElementsAre(4, 6, 5));
  EXPECT_THAT(EncodeOnly(**t, "a   b"), ElementsAre(4, 3, 6, 5));
  EXPECT_THAT(EncodeOnly(**t, "ab"), ElementsAre(4, 5)) << "two good pieces beat a bad one";
  EXPECT_THAT(EncodeOnly(**t, "VII"), ElementsAre(9, 8));
  EXPECT_THAT(EncodeOnly(**t, "xyz y"), ElementsAre(0, 3, 0)) << "unknown runs are one";
  EXPECT_EQ((*t)->Decode(EncodeOnly(**t, "a   b")), "a   b");
}

// V I II and V II I are as good; rounding decides, and with it the score of what stands before
// them.
TEST(SentencePieceTest, EqualSumsAreDecidedAsThePackageDoes) {
  std::string pieces = Piece("<unk>", 0, PieceType::kUnknown) + Piece("V", -5.934007167816162f) +
                       Piece("I", -5.143745422363281f) + Piece("II", -5.9416117668151855f) +
                       Piece("a", -1.8833268880844116f) + Piece("z", -5.934009552001953f) +
                       Piece("foo", 0, PieceType::kUserDefined);
  std::string bytes = pieces + Bytes(2, Number(3, 1)) +
                      Bytes(3, Bytes(1, "identity") + Number(3, 0) + Number(4, 0) + Number(5, 1));
  auto t = Tokenizer::FromSentencePiece(bytes, "tokenizer.model");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_THAT(EncodeOnly(**t, "VIII"), ElementsAre(1, 3, 2));
  EXPECT_THAT(EncodeOnly(**t, "aVIII"), ElementsAre(4, 1, 2, 3));
  EXPECT_THAT(EncodeOnly(**t, "foozVIII"), ElementsAre(6, 5, 1, 2, 3));
  EXPECT_THAT(EncodeOnly(**t, "foofoozVIII"), ElementsAre(6, 6, 5, 1, 3, 2));
  EXPECT_THAT(EncodeOnly(**t, "zfooVIII"), ElementsAre(5, 6, 1, 2, 3));
}

TEST(SentencePieceTest, BpeMergesByScore) {
  auto t =
      Tokenizer::FromSentencePiece(ModelBytes(SentencePieceModel::Kind::kBpe), "tokenizer.model");
  ASSERT_TRUE(t.ok()) << t.status().message();
  EXPECT_THAT(EncodeOnly(**t, "a  b"), ElementsAre(4, 6, 5));
  EXPECT_THAT(EncodeOnly(**t, "a   b"), ElementsAre(4, 6, 3, 5)) << "user-defined: the leftmost";
  EXPECT_THAT(EncodeOnly(**t, "ab"), ElementsAre(10)) << "a merge is made whatever its score";
  EXPECT_THAT(EncodeOnly(**t, "VII"), ElementsAre(9, 8));
  auto with_bos = (*t)->Encode("ab");
  EXPECT_THAT(*with_bos, ElementsAre(1, 10));
}

TEST(SentencePieceTest, EveryTruncationIsAnErrorOrAModel) {
  std::string bytes = ModelBytes(SentencePieceModel::Kind::kUnigram);
  for (size_t n = 0; n < bytes.size(); ++n) {
    auto t = Tokenizer::FromSentencePiece(std::string_view(bytes).substr(0, n), "tokenizer.model");
    if (t.ok()) {
      EXPECT_FALSE(EncodeOnly(**t, "a b").empty()) << n;
    } else {
      EXPECT_THAT(t.status().message(), testing::StartsWith("tokenizer.model: ")) << n;
    }
  }
}

}  // namespace
}  // namespace moxie::text
