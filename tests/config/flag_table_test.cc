// Checks of every row of the flag table.
#include "config/flag_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/flag_value.h"
#include "config/flag_words.h"
#include "config/flags.h"

namespace moxie::config {
namespace {

constexpr Command kCommands[] = {Command::kServe, Command::kPlan,     Command::kComplete,
                                 Command::kBench, Command::kTokenize, Command::kDetokenize,
                                 Command::kIr};

std::string Name(const FlagRow& row) { return std::string(row.name); }

TEST(FlagTable, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const FlagRow& row : FlagTable()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    if (!row.alias.empty()) {
      EXPECT_TRUE(names.insert(row.alias).second) << row.alias;
    }
  }
  for (const RemovedFlag& flag : RemovedFlags())
    EXPECT_TRUE(names.insert(flag.name).second) << flag.name;
}

TEST(FlagTable, NamesAreWrittenAsTheParserLooksThemUp) {
  for (const FlagRow& row : FlagTable()) {
    if (row.positional()) continue;
    EXPECT_TRUE(row.name.starts_with("--")) << row.name;
    EXPECT_EQ(row.name.find('_'), std::string_view::npos) << row.name;
    EXPECT_EQ(row.name.find_first_of(".=+ "), std::string_view::npos) << row.name;
    EXPECT_FALSE(row.name.starts_with("--no-")) << row.name;
  }
}

TEST(FlagTable, DefaultsAreValuesOfTheirRow) {
  for (const FlagRow& row : FlagTable()) {
    if (row.initial.empty()) continue;
    std::string word(row.initial);
    auto value = ParseFlagValue(row, {&word, 1});
    EXPECT_TRUE(value.ok()) << value.status().message();
  }
}

TEST(FlagTable, HarmlessValuesAreValuesOfTheirRow) {
  for (const FlagRow& row : FlagTable()) {
    if (!row.harmless.empty()) {
      EXPECT_EQ(row.set, nullptr) << row.name << ": has a setter and harmless values";
    }
    for (const std::string& word : SplitFlagWords(row.harmless, '|')) {
      auto value = ParseFlagValue(row, {&word, 1});
      EXPECT_TRUE(value.ok()) << value.status().message();
    }
  }
}

TEST(FlagTable, EveryRowSaysWhatItIs) {
  for (const FlagRow& row : FlagTable()) {
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.group.empty()) << row.name;
    EXPECT_FALSE(row.help.ends_with('.')) << row.name;
    EXPECT_NE(row.commands, 0) << row.name;
  }
}

TEST(FlagTable, OnlyMustRowsHaveSetters) {
  for (const FlagRow& row : FlagTable()) {
    if (row.set != nullptr) {
      EXPECT_EQ(row.flag_class, FlagClass::kMust) << row.name;
    }
  }
}

// A word that is valid for the row and is not its default.
std::string OtherValue(const FlagRow& row) {
  if (row.type == FlagType::kBool) return row.initial == "true" ? "false" : "true";
  for (const std::string& choice : SplitFlagWords(row.domain.choices, '|')) {
    if (choice != row.initial) return choice;
  }
  if (row.type == FlagType::kJson) return R"({"some":1})";
  for (const char* word : {"0.25", "7", "1", "0", "2048", "131072"}) {
    std::string text = word;
    bool typed = row.type == FlagType::kReal || text.find('.') == std::string::npos;
    if (typed && ParseFlagValue(row, {&text, 1}).ok() && text != row.initial) return text;
  }
  return "none";
}

// Everything a setter can reach, as text.
std::string Contents(const CommandLine& line) {
  const EngineConfig& e = line.engine;
  std::string text = StrCat(
      e.model, "|", e.tokenizer, "|", e.compute, "|", e.seed, "|", e.max_model_len.value_or(0), "|",
      e.max_logprobs, "|", e.generation_config, "|", e.memory_utilization, "|",
      e.kv_cache_bytes.value_or(-1), "|", e.kv_cache_dtype, "|", e.block_size, "|",
      e.num_blocks_override.value_or(-1), "|", e.max_num_batched_tokens, "|", e.max_num_seqs);
  text += StrCat("|", e.max_queued_requests, "|", e.max_queued_tokens, "|", e.max_request_heap, "|",
                 e.scheduling_policy, "|", e.prefix_caching, "|", e.prompt_tokens_details, "|",
                 e.force_include_usage, "|", e.threads, "|", e.host, "|", e.port, "|",
                 e.shutdown_timeout_s, "|", e.disable_access_log, "|", e.max_header_bytes, "|",
                 e.max_request_bytes, "|", e.guard_memory, "|", e.max_header_fields, "|",
                 line.compute_by_dtype, "|", line.json);
  for (const auto& name : e.served_model_names) text += "|" + name;
  for (const auto& key : e.api_keys) text += "|key " + key;
  text += StrCat("|", e.chat_template, "|", e.chat_template_content_format, "|",
                 DumpJson(e.default_chat_template_kwargs), "|", e.trust_request_chat_template, "|",
                 e.trust_content);
  text += StrCat("|", DumpJson(e.allowed_origins), "|", DumpJson(e.allowed_methods), "|",
                 DumpJson(e.allowed_headers), "|", e.allow_credentials);
  const CompleteOptions& c = line.complete;
  text += StrCat("|", c.prompt, "|", c.max_tokens, "|", c.temperature.value_or(-1), "|",
                 c.top_p.value_or(-1), "|", c.top_k.value_or(-2), "|", line.bench.repetitions, "|",
                 line.plan.fit, "|", line.plan.explain, "|", line.plan.svg);
  for (int64_t n : line.bench.pp) text += StrCat("|pp ", n);
  for (int64_t n : line.bench.tg) text += StrCat("|tg ", n);
  const TextOptions& t = line.text;
  text += StrCat("|", t.text.value_or("-"), "|", t.file, "|", t.add_special_tokens, "|",
                 t.skip_special_tokens);
  for (int64_t n : t.ids) text += StrCat("|id ", n);
  text += StrCat("|", line.ir.file, "|", line.ir.run);
  for (const auto& extent : line.ir.extents) text += "|extent " + extent;
  return text;
}

TEST(FlagTable, SettersStoreTheirValue) {
  for (const FlagRow& row : FlagTable()) {
    if (row.set == nullptr) continue;
    CommandLine before, after;
    row.set(DefaultValue(row), before);
    after = before;
    std::string word = OtherValue(row);
    auto value = ParseFlagValue(row, {&word, 1});
    ASSERT_TRUE(value.ok()) << value.status().message();
    row.set(*value, after);
    EXPECT_NE(Contents(before), Contents(after)) << row.name << " " << word;
  }
}

// No flag is silently without effect: each is stored, noted, or refused when it would matter.
TEST(FlagTable, EveryRowIsHonouredNotedOrRefused) {
  for (const FlagRow& row : FlagTable()) {
    if (row.set != nullptr || row.name == "--config") continue;
    std::string word = OtherValue(row);
    std::vector<std::string> args{"model"};
    if (row.type == FlagType::kBool) {
      args.push_back(word == "true" ? Name(row) : StrCat("--no-", row.name.substr(2)));
    } else {
      args.push_back(StrCat(row.name, "=", word));
    }
    bool harmless = row.harmless.find(word) != std::string_view::npos;
    auto line = ParseCommandLine(Command::kServe, args);
    if (row.flag_class == FlagClass::kIgnore) {
      ASSERT_TRUE(line.ok()) << line.status().message();
      ASSERT_EQ(line->notes.size(), 1u) << row.name;
      EXPECT_THAT(line->notes[0], ::testing::HasSubstr("is ignored"));
    } else if (!harmless) {
      ASSERT_FALSE(line.ok()) << row.name << " " << word;
      EXPECT_THAT(line.status().message(), ::testing::HasSubstr("is not supported")) << row.name;
    } else {
      EXPECT_TRUE(line.ok()) << row.name;
    }
  }
}

// A value equal to the default changes nothing, so it is never refused.
TEST(FlagTable, DefaultsAreAccepted) {
  for (const FlagRow& row : FlagTable()) {
    if (row.initial.empty() || row.type == FlagType::kStrings) continue;
    std::vector<std::string> args{"model"};
    if (row.type == FlagType::kBool) {
      args.push_back(row.initial == "true" ? Name(row) : StrCat("--no-", row.name.substr(2)));
    } else {
      args.push_back(StrCat(row.name, "=", row.initial));
    }
    for (Command command : kCommands) {
      if (!row.Takes(command)) continue;
      if (command == Command::kComplete) args.push_back("--prompt=x");
      if (command == Command::kDetokenize) args.push_back("--ids=1");
      auto line = ParseCommandLine(command, args);
      EXPECT_TRUE(line.ok()) << line.status().message();
      break;
    }
  }
}

TEST(FlagTable, RemovedFlagsAreNotedOrRefusedWithWhatReplacedThem) {
  for (const RemovedFlag& flag : RemovedFlags()) {
    EXPECT_FALSE(flag.note.empty()) << flag.name;
    std::vector<std::string> args{"model", std::string(flag.name)};
    if (flag.takes_value) args.push_back("1");
    auto line = ParseCommandLine(Command::kServe, args);
    if (flag.refused) {
      EXPECT_THAT(line.status().message(), ::testing::HasSubstr(std::string(flag.note)));
    } else {
      ASSERT_TRUE(line.ok()) << line.status().message();
      EXPECT_THAT(line->notes,
                  ::testing::ElementsAre(::testing::HasSubstr(std::string(flag.note))));
    }
  }
}

}  // namespace
}  // namespace moxie::config
