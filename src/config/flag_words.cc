#include "config/flag_words.h"

#include <algorithm>
#include <cctype>

#include "config/flag_file.h"
#include "config/flag_value.h"
#include "config/nearest.h"

namespace moxie::config {
namespace {

// "--max_num_seqs=4" -> name "--max-num-seqs", value "4".
struct Name {
  std::string name;                    // dashes only
  std::vector<std::string> json_path;  // after the first dot, as typed
  bool append = false;
  bool has_value = false;
  std::string value;
};

bool IsNumber(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  return word.find_first_not_of("0123456789.", 1) == std::string_view::npos;
}

bool IsFlag(std::string_view word) { return word.size() > 1 && word[0] == '-' && !IsNumber(word); }

// -O3 is --optimization-level=3.
bool IsOptimizationLevel(std::string_view word) {
  return word.starts_with("-O") && word.size() > 2 &&
         std::isdigit(static_cast<unsigned char>(word[2]));
}

Name ParseName(std::string_view word) {
  Name result;
  if (IsOptimizationLevel(word)) {
    return {"--optimization-level", {}, false, true, std::string(word.substr(2))};
  }
  size_t equals = word.find('=');
  if (equals != std::string_view::npos) {
    result.has_value = true;
    result.value = word.substr(equals + 1);
    word = word.substr(0, equals);
  }
  if (word.ends_with('+')) {
    result.append = true;
    word.remove_suffix(1);
  }
  size_t dot = word.find('.');
  if (dot != std::string_view::npos) {
    result.json_path = SplitFlagWords(word.substr(dot + 1), '.');
    word = word.substr(0, dot);
  }
  result.name = word;
  if (word.starts_with("--")) std::replace(result.name.begin(), result.name.end(), '_', '-');
  return result;
}

const FlagRow* FindRow(std::string_view name) {
  for (const FlagRow& row : FlagTable()) {
    if (row.positional()) continue;
    if (row.name == name || (!row.alias.empty() && row.alias == name)) return &row;
  }
  return nullptr;
}

const RemovedFlag* FindRemoved(std::string_view name) {
  for (const RemovedFlag& flag : RemovedFlags()) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

class Splitter {
 public:
  Splitter(Command command, std::span<const std::string> args) : command_(command), args_(args) {}

  Result<FlagWords> Run() {
    while (next_ < args_.size()) {
      MOXIE_RETURN_IF_ERROR(Step(args_[next_++]));
    }
    return std::move(result_);
  }

 private:
  Status Step(const std::string& word) {
    if (only_positional_ || !IsFlag(word)) return Positional(word);
    if (word == "--") {
      only_positional_ = true;
      return OkStatus();
    }
    Name name = ParseName(word);
    if (name.name == "--help" || name.name == "-h") {
      result_.wants_help = true;
      result_.help_topic = name.value;
      return OkStatus();
    }
    return Flag(std::move(name));
  }

  Status Positional(const std::string& word) {
    const FlagRow& row = PositionalRow(command_);
    if (has_positional_) {
      return InvalidArgument("unexpected argument \"", word, "\"; `moxie ", CommandName(command_),
                             "` takes one ", ShownName(row), " and flags");
    }
    has_positional_ = true;
    result_.uses.push_back({.row = &row, .words = {word}});
    return OkStatus();
  }

  Status Flag(Name name) {
    const FlagRow* row = FindRow(name.name);
    if (row != nullptr && !row->Takes(command_)) return WrongCommand(*row);
    if (row == nullptr && name.name.starts_with("--no-")) {
      const FlagRow* positive = FindRow("--" + name.name.substr(5));
      if (positive != nullptr && positive->type == FlagType::kBool)
        return Boolean(*positive, name, "false");
    }
    if (row == nullptr) return RemovedOrUnknown(name);
    if (!name.json_path.empty() && row->type != FlagType::kJson) {
      return InvalidArgument(row->name, " takes no keys: it is not JSON but ",
                             DescribeFlagValues(*row));
    }
    if (row->type == FlagType::kBool) return Boolean(*row, name, "true");
    FlagUse use{.row = row, .json_path = name.json_path, .append = name.append};
    MOXIE_ASSIGN_OR_RETURN(use.words, Values(*row, name));
    result_.uses.push_back(std::move(use));
    return OkStatus();
  }

  Status Boolean(const FlagRow& row, const Name& name, std::string value) {
    if (name.has_value) {
      return InvalidArgument(row.name, " takes no value: ", row.name, " or --no-",
                             row.name.substr(2), " (found \"", name.value, "\")");
    }
    result_.uses.push_back({.row = &row, .words = {std::move(value)}});
    return OkStatus();
  }

  // The attached value, or the words up to the next flag: one, or all of them for lists.
  Result<std::vector<std::string>> Values(const FlagRow& row, const Name& name) {
    if (name.has_value) return std::vector<std::string>{name.value};
    bool many = row.type == FlagType::kStrings || row.type == FlagType::kInts;
    std::vector<std::string> words;
    while (next_ < args_.size() && !IsFlag(args_[next_]) && (many || words.empty())) {
      words.push_back(args_[next_++]);
    }
    if (words.empty() && row.type == FlagType::kOptionalString) words.emplace_back("true");
    if (words.empty())
      return InvalidArgument(row.name, " needs a value: ", DescribeFlagValues(row));
    return words;
  }

  Status RemovedOrUnknown(const Name& name) {
    const RemovedFlag* removed = FindRemoved(name.name);
    if (removed == nullptr) return Unknown(name.name);
    if (removed->refused) {
      return Unimplemented(removed->name, " is no longer a flag: ", removed->note);
    }
    if (removed->takes_value && !name.has_value && next_ < args_.size() && !IsFlag(args_[next_]))
      ++next_;
    result_.uses.push_back({.removed = removed});
    return OkStatus();
  }

  Status Unknown(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const FlagRow& row : FlagTable()) {
      if (row.Takes(command_) && row.name.starts_with("--")) names.push_back(row.name);
    }
    std::string_view nearest = NearestName(name, names);
    std::string hint = nearest.empty() ? StrCat("; see `moxie ", CommandName(command_), " --help`")
                                       : StrCat("; did you mean ", nearest, "?");
    return InvalidArgument("unknown flag ", name, hint);
  }

  Status WrongCommand(const FlagRow& row) const {
    return InvalidArgument(row.name, " is no flag of `moxie ", CommandName(command_), "` but of ",
                           row.group);
  }

  const Command command_;
  const std::span<const std::string> args_;
  size_t next_ = 0;
  bool only_positional_ = false;
  bool has_positional_ = false;
  FlagWords result_;
};

// The last --config of the uses; empty: none.
std::string ConfigFile(const FlagWords& words) {
  std::string path;
  for (const FlagUse& use : words.uses) {
    if (use.row != nullptr && use.row->name == "--config") path = use.words[0];
  }
  return path;
}

// What the command line says of a flag replaces all that the file says of it; JSON values merge.
FlagWords PutFirst(FlagWords file, FlagWords typed) {
  std::vector<FlagUse> uses;
  for (FlagUse& use : file.uses) {
    auto same = [&](const FlagUse& other) { return other.row == use.row && use.row != nullptr; };
    bool replaced = std::any_of(typed.uses.begin(), typed.uses.end(), same);
    if (!replaced || use.row->type == FlagType::kJson) uses.push_back(std::move(use));
  }
  std::move(typed.uses.begin(), typed.uses.end(), std::back_inserter(uses));
  typed.uses = std::move(uses);
  return typed;
}

Result<FlagWords> SplitFile(Command command, const std::string& path) {
  MOXIE_ASSIGN_OR_RETURN(std::vector<std::string> lines, ReadFlagFile(path));
  auto words = Splitter(command, lines).Run();
  if (!words.ok()) return std::move(words).status().WithContext(path);
  if (!ConfigFile(*words).empty()) {
    return InvalidArgument(path, ": a file of flags cannot name another one");
  }
  return words;
}

}  // namespace

std::string_view CommandName(Command command) {
  switch (command) {
    case Command::kServe:
      return "serve";
    case Command::kPlan:
      return "plan";
    case Command::kComplete:
      return "complete";
    case Command::kBench:
      return "bench";
    case Command::kTokenize:
      return "tokenize";
    case Command::kDetokenize:
      return "detokenize";
    case Command::kIr:
      return "ir";
  }
  return "";
}

Result<FlagWords> SplitCommandLine(Command command, std::span<const std::string> args) {
  MOXIE_ASSIGN_OR_RETURN(FlagWords words, Splitter(command, args).Run());
  std::string path = ConfigFile(words);
  if (path.empty()) return words;
  MOXIE_ASSIGN_OR_RETURN(FlagWords file, SplitFile(command, path));
  return PutFirst(std::move(file), std::move(words));
}

}  // namespace moxie::config
