#include "config/flag_help.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <vector>

#include "config/flag_table.h"
#include "config/flag_value.h"
#include "config/flag_words.h"

namespace moxie::config {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// What a reader has to know before using the flag.
std::string_view Standing(const FlagRow& row) {
  if (row.set != nullptr) return "";
  switch (row.flag_class) {
    case FlagClass::kIgnore:
      return "ignored: ";
    case FlagClass::kRefuse:
    case FlagClass::kTrivial:
      return "not supported: ";
    case FlagClass::kMust:
    case FlagClass::kLater:
      break;
  }
  return row.name == "--config" ? "" : "not yet: ";
}

// "  --port (an integer from 0 to 65535; 8000)\n      Port to listen on\n"
std::string Entry(const FlagRow& row) {
  std::string names = ShownName(row);
  if (!row.alias.empty()) names += StrCat(", ", row.alias);
  if (row.type == FlagType::kBool) names += StrCat(", --no-", row.name.substr(2));
  std::string initial = row.initial.empty() ? "" : StrCat("; ", row.initial);
  return StrCat("  ", names, " (", DescribeFlagValues(row), initial, ")\n      ", Standing(row),
                row.help, "\n");
}

std::string Entries(Command command, const std::function<bool(const FlagRow&)>& wanted) {
  std::string text;
  std::string_view group;
  for (const FlagRow& row : FlagTable()) {
    if (!row.Takes(command) || !wanted(row)) continue;
    if (row.group != group) text += StrCat(group.empty() ? "" : "\n", row.group, ":\n");
    group = row.group;
    text += Entry(row);
  }
  return text;
}

std::vector<std::string_view> Groups(Command command) {
  std::vector<std::string_view> groups;
  for (const FlagRow& row : FlagTable()) {
    if (row.Takes(command) && (groups.empty() || groups.back() != row.group))
      groups.push_back(row.group);
  }
  return groups;
}

std::string GroupList(Command command) {
  std::string text = "Groups, for --help=GROUP:\n";
  for (std::string_view group : Groups(command)) text += StrCat("  ", group, "\n");
  return text;
}

}  // namespace

Result<std::string> FlagHelp(Command command, std::string_view topic) {
  if (topic.empty()) {
    return StrCat("Usage: moxie ", CommandName(command), " ", ShownName(PositionalRow(command)),
                  " [flags]\n\n",
                  Entries(command, [](const FlagRow& row) { return row.set != nullptr; }), "\n",
                  "--help=all shows every flag, --help=NAME those with NAME in their name.\n",
                  GroupList(command));
  }
  if (topic == "listgroup") return GroupList(command);
  if (topic == "all") return Entries(command, [](const FlagRow&) { return true; });
  std::string wanted = Lower(topic);
  std::string group =
      Entries(command, [&](const FlagRow& row) { return Lower(row.group) == wanted; });
  if (!group.empty()) return group;
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  std::string flags = Entries(
      command, [&](const FlagRow& row) { return row.name.find(wanted) != std::string_view::npos; });
  if (!flags.empty()) return flags;
  return InvalidArgument("--help=", topic,
                         ": no such group and no flag with it in its name; --help=listgroup");
}

}  // namespace moxie::config
