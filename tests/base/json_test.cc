#include "base/json.h"

#include <gtest/gtest.h>

namespace moxie {
namespace {

TEST(Json, KeepsMemberOrder) {
  auto v = ParseJson(R"({"z":1,"a":[true,null,"x"],"m":{}})");
  ASSERT_TRUE(v.ok()) << v.status().message();
  EXPECT_EQ(DumpJson(*v), R"({"z":1,"a":[true,null,"x"],"m":{}})");
}

TEST(Json, DoublesPrintShortestAndStayDoubles) {
  auto v = ParseJson("[1.0, 0.1, 1e-05, 1e300]");
  ASSERT_TRUE(v.ok());
  EXPECT_EQ(DumpJson(*v), "[1.0,0.1,1e-05,1e+300]");
}

TEST(Json, ErrorsNameLineAndColumn) {
  auto v = ParseJson("{\n  \"a\": 1,\n  oops\n}");
  ASSERT_FALSE(v.ok());
  EXPECT_EQ(v.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(v.status().message().find("line 3, column 3"), std::string::npos)
      << v.status().message();
}

TEST(Json, TrailingTextIsAnError) {
  EXPECT_FALSE(ParseJson("{} x").ok());
  EXPECT_TRUE(ParseJson("{} \n").ok());
  EXPECT_FALSE(ParseJson("").ok());
}

TEST(Json, DepthAndBytesAreBounded) {
  std::string deep(100000, '[');
  EXPECT_FALSE(ParseJson(deep).ok());
  JsonLimits limits;
  limits.max_bytes = 4;
  EXPECT_FALSE(ParseJson("[1,2]", limits).ok());
}

TEST(Json, MissingFileNamesThePath) {
  auto v = ReadJsonFile("/nonexistent/config.json");
  EXPECT_EQ(v.code(), StatusCode::kNotFound);
  EXPECT_NE(v.status().message().find("/nonexistent/config.json"), std::string::npos);
}

}  // namespace
}  // namespace moxie
