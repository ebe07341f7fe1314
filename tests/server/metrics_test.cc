#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tests/server/case_file.h"
#include "tests/server/served.h"

namespace moxie::server {
namespace {

using testing::HasSubstr;

TEST(Metrics, case_ops_metrics_label_escaping) {
  const Json test_case = LoadCase("ops-metrics-label-escaping");
  const JsonArray& values = test_case.at("input").at("label_values").as_array();
  const JsonArray& lines = test_case.at("expected").at("lines").as_array();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(StrCat("requests_total{model_name=\"",
                     EscapeLabel(std::string_view(values[i].as_string())), "\"} 1.0"),
              std::string_view(lines[i].as_string()));
  }
}

TEST(Metrics, EveryNameHasOneTypeAndItsSamplesFollow) {
  engine::EngineStats stats;
  stats.step_tokens = {1, 2, 3};
  std::istringstream page(MetricsText(stats, "m"));
  std::set<std::string> types;
  std::string line, current;
  while (std::getline(page, line)) {
    if (line.starts_with("# TYPE ")) {
      current = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(types.insert(current).second) << current;
    } else if (!line.starts_with("#")) {
      EXPECT_TRUE(line.starts_with(current)) << line;
      EXPECT_THAT(line, HasSubstr("model_name=\"m\",engine=\"0\""));
    }
  }
  EXPECT_GT(types.size(), 7u);
}

TEST(Metrics, TellOfPreemptionsAndThePrefixCache) {
  engine::EngineStats stats;
  stats.preemptions = 1;
  stats.prefix_queries = 20;
  stats.prefix_hits = 16;
  stats.prompt_tokens_cached = 8;
  const std::string page = MetricsText(stats, "m");
  const std::string labels = "{model_name=\"m\",engine=\"0\"} ";
  EXPECT_THAT(page, HasSubstr("vllm:num_preemptions_total" + labels + "1.0\n"));
  EXPECT_THAT(page, HasSubstr("vllm:prefix_cache_queries_total" + labels + "20.0\n"));
  EXPECT_THAT(page, HasSubstr("vllm:prefix_cache_hits_total" + labels + "16.0\n"));
  EXPECT_THAT(page, HasSubstr("vllm:prompt_tokens_cached_total" + labels + "8.0\n"));
}

TEST(Metrics, CountWhatHappened) {
  Served served;
  served.ExpectWell();
  EXPECT_TRUE(served.WaitUntilIdle());
  const ClientReply page = Request(served.port(), "GET", "/metrics");
  EXPECT_EQ(page.Header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  const std::string labels = "{model_name=\"m\",engine=\"0\"";
  EXPECT_THAT(page.body, HasSubstr("vllm:prompt_tokens_total" + labels + "} 2.0\n"));
  EXPECT_THAT(page.body, HasSubstr("vllm:generation_tokens_total" + labels + "} 2.0\n"));
  EXPECT_THAT(page.body, HasSubstr("vllm:request_success_total" + labels +
                                   ",finished_reason=\"length\"} 1.0\n"));
  EXPECT_THAT(page.body,
              HasSubstr("vllm:iteration_tokens_total_bucket" + labels + ",le=\"+Inf\"} 2.0\n"));
}

}  // namespace
}  // namespace moxie::server
