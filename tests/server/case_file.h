// The cases of tests/data/cases.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"

namespace moxie::server {

inline Json LoadCase(const std::string& id) {
  auto json = ReadJsonFile(std::string(MOXIE_TEST_DATA "/cases/") + id + ".json");
  EXPECT_TRUE(json.ok()) << json.status().message();
  return json.ok() ? *json : Json();
}

// The cases speak of chat; the same body for /v1/completions.
inline std::string AsCompletion(std::string body) {
  const std::string messages = R"("messages":[{"role":"user","content":"hi"}])";
  if (const size_t at = body.find(messages); at != std::string::npos) {
    body.replace(at, messages.size(), R"("prompt":"hi")");
  }
  return body;
}

}  // namespace moxie::server
