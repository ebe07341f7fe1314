#include "ir/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace moxie::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Effects> Of(std::string schema, std::vector<ValueId> operands) {
  Op op;
  op.kind = OpKind::kCustom;
  op.attrs = {{AttrKey::kSchema, std::move(schema)}};
  op.operands = std::move(operands);
  return EffectsOf(op);
}

TEST(Schema, ReadsAliasAnnotations) {
  auto schema =
      ParseSchema("lib::op(Tensor q, Tensor(a!)[] kv, Tensor(b)? w=None) -> (Tensor, Tensor(b))");
  ASSERT_TRUE(schema.ok()) << schema.status().message();
  EXPECT_EQ(schema->name, "lib::op");
  ASSERT_EQ(schema->arguments.size(), 3u);
  EXPECT_TRUE(schema->arguments[1].written && schema->arguments[1].list);
  EXPECT_EQ(schema->arguments[1].name, "kv");
  EXPECT_TRUE(schema->arguments[2].optional && !schema->arguments[2].written);
  EXPECT_EQ(schema->returns[1].alias, "b");
}

TEST(Schema, BindsListsAndAbsentOptionals) {
  auto effects =
      Of("op(Tensor q, Tensor(a!)[] kv, Tensor(b) w) -> (Tensor, Tensor(b))", {7, 8, 9, 6});
  ASSERT_TRUE(effects.ok()) << effects.status().message();
  EXPECT_THAT(effects->written, ElementsAre(1, 2));
  EXPECT_THAT(effects->view_of, ElementsAre(-1, 3));
  effects = Of("op(Tensor(a!) x, Tensor(b!)? y=None) -> ()", {7});
  ASSERT_TRUE(effects.ok()) << effects.status().message();
  EXPECT_THAT(effects->written, ElementsAre(0));
  EXPECT_EQ(effects->returns, 0u);
}

TEST(Schema, AValueWrittenTwiceHasOneVersion) {
  auto effects = Of("op(Tensor(a!) x, Tensor(b!) y) -> ()", {7, 7});
  ASSERT_TRUE(effects.ok()) << effects.status().message();
  EXPECT_THAT(effects->written, ElementsAre(0));
}

TEST(Schema, ErrorsSayWhereAndWhat) {
  EXPECT_THAT(ParseSchema("op(Tensor x -> Tensor").status().message(),
              HasSubstr("column 13: expected \")\""));
  EXPECT_THAT(ParseSchema("op(Tensor x) -> Tensor y").status().message(),
              HasSubstr("expected the end"));
  EXPECT_THAT(ParseSchema("op(int n) -> Tensor").status().message(), HasSubstr("(R3)"));
  EXPECT_THAT(Of("op(Tensor x) -> Tensor", {1, 2}).status().message(),
              HasSubstr("takes 1 operands, got 2"));
  EXPECT_THAT(Of("op(Tensor(a!) x) -> Tensor(a!)", {1}).status().message(),
              HasSubstr("returns a written argument"));
  EXPECT_THAT(Of("op(Tensor x) -> Tensor(c)", {1}).status().message(),
              HasSubstr("no argument has the alias (c)"));
  EXPECT_THAT(ParseSchema("op(Tensor[] x, Tensor[] y) -> ()").status().message(),
              HasSubstr("more than one list"));
  EXPECT_THAT(ParseSchema("op(Tensor x) -> Tensor[]").status().message(),
              HasSubstr("a return is one Tensor"));
  for (const char* text :
       {"op(Tensor(a) x, Tensor(a) y) -> Tensor(a)", "op(Tensor(a)[] xs) -> Tensor(a)"}) {
    EXPECT_THAT(ParseSchema(text).status().message(), HasSubstr("(a) names several"));
  }
}

}  // namespace
}  // namespace moxie::ir
