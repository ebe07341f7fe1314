// moxie ir: what it prints of programs in the text form, and how it refuses them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/cli/program_file.h"
#include "tests/cli/run.h"

namespace moxie::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kProgram = R"(graph @g imperative {
  weight %w : bf16[96,64] x2 = "w.{i}"
  input %x : f32[T,64] donated
  input %ids : i32[T]
  %y = repeat(%x, %w) {n=2, carries=1, states=0, invariants=0} : f32[T,64] {
    body(%h : f32[T,64], %v : bf16[96,64]) {
      %m = matmul(%h, %v) {dtype="f32"} : f32[T,96]
      %part = view(%m) offset 32 strides [96,1] : f32[T,64]
      add!(%h, %part)
      yield %h
    }
  }
  shift!(%x) {shift=1}
  return %y, %ids
})";

Json Plan(const std::string& file, std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"ir", file, "--json"});
  const Outcome outcome = Moxie(flags);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  auto json = ParseJson(outcome.out);
  EXPECT_TRUE(json.ok()) << outcome.out;
  return json.ok() ? *json : Json(JsonObject{});
}

TEST(Ir, PrintsTheFunctionalGraphCopiesAndPeak) {
  const ProgramFile file(kProgram);
  const Outcome outcome = Moxie({"ir", file.path(), "--extents", "T=16"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // The carry begins as a copy of x, whose own storage then takes its next version.
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("%x.1 = shift(%x) {shift=1} : f32[T,64]"),
                                 HasSubstr("= add(%h, %part) : f32[T,64]"), HasSubstr("copies  1"),
                                 HasSubstr("m f32[T,96] 6144"), HasSubstr("x f32[T,64] 4096")));
  const Json plan = Plan(file.path(), {"--extents", "T=32"});
  EXPECT_EQ(plan.at("copies"), 1);
  EXPECT_GE(plan.at("arena_bytes").as_int64(), 32 * (96 + 64) * 4);
  EXPECT_EQ(plan.at("arena_bytes"), plan.at("lower_bound"));
}

TEST(Ir, RunsOnNumbersOfTheSeed) {
  const ProgramFile file(kProgram);
  auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--extents", "T=16", "--run"});
    return Plan(file.path(), flags).at("outputs").as_array();
  };
  const JsonArray once = run({"--threads", "1"});
  ASSERT_EQ(once.size(), 2u);
  EXPECT_EQ(once[0].at("type"), "f32[16,64]");
  EXPECT_GT(once[0].at("largest").as_double(), 0.5);
  EXPECT_EQ(once[1].at("largest").to_number<double>(), 0) << "integers are 0";
  EXPECT_EQ(run({"--threads", "2"}), once);
  EXPECT_NE(run({"--seed", "1"})[0].at("checksum"), once[0].at("checksum"));
}

TEST(Ir, RefusalsSayWhereAndWhat) {
  auto refusal = [](std::string_view text, std::vector<std::string> flags = {}) {
    const ProgramFile file(text);
    flags.insert(flags.begin(), {"ir", file.path()});
    const Outcome outcome = Moxie(flags);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(refusal("graph @g {\n  input x }"),
              AllOf(HasSubstr(".ir: line 2, column"), HasSubstr("expected \"%\"")));
  EXPECT_THAT(refusal(R"(graph @g imperative { input %x : f32[4] silu!(%x) @ "mlp" return %x })"),
              HasSubstr("op 0 silu (origin \"mlp\"): writes %x, which is an input that is not "
                        "donated (R6)"));
  EXPECT_THAT(refusal("graph @g { input %x : i8[4] %y = copy(%x) : i8[4] return %y }"),
              HasSubstr("no kernel for copy(i8[4])"));
  EXPECT_THAT(refusal("graph @g { input %x : f32[T,T,T] return %x }", {"--extents", "T=100000"}),
              HasSubstr("is over 64 TiB"));
  EXPECT_THAT(
      refusal("graph @g { input %x : f32[T,T] return %x }", {"--extents", "T=1000000", "--run"}),
      HasSubstr("does not fit in memory"));
  for (const char* extents : {"T", "T=0", "X=4", "T=1x", "Q=2", "T=99999999999"}) {
    EXPECT_THAT(refusal(kProgram, {"--extents", extents}), HasSubstr("is not one of T, S, R, W"));
  }
}

TEST(Ir, TakesOneFile) {
  EXPECT_EQ(Moxie({"ir"}).code, 2);
  EXPECT_THAT(Moxie({"ir", "/no/such.ir"}).err, HasSubstr("/no/such.ir: cannot open"));
  EXPECT_THAT(Moxie({"ir", "a.ir", "b.ir"}).err, HasSubstr("takes one FILE and flags"));
  EXPECT_THAT(Moxie({"ir", "--help"}).out, HasSubstr("Usage: moxie ir FILE [flags]"));
}

}  // namespace
}  // namespace moxie::cli
