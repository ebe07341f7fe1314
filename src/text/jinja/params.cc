#include "text/jinja/params.h"

#include <algorithm>
#include <climits>

#include "text/jinja/ops.h"

namespace moxie::text::jinja {

Params::Params(std::string_view function, Args args, std::string_view signature) {
  bool keywords = !signature.starts_with('/');
  if (!keywords) signature.remove_prefix(1);
  std::vector<std::string_view> names;
  for (size_t begin = 0; begin < signature.size();) {
    size_t end = std::min(signature.find(',', begin), signature.size());
    names.push_back(signature.substr(begin, end - begin));
    begin = end + 1;
  }
  if (args.positional.size() > names.size()) {
    Raise("TypeError", function, "() takes ", names.size(), " argument(s) but ",
          args.positional.size(), " were given");
  }
  values_.resize(names.size());
  std::move(args.positional.begin(), args.positional.end(), values_.begin());
  for (auto& [name, value] : args.keyword) {
    auto at = std::find_if(names.begin(), names.end(),
                           [&](std::string_view n) { return n.substr(0, n.find('=')) == name; });
    if (!keywords || at == names.end()) {
      Raise("TypeError", function, "() got an unexpected keyword argument '", name, "'");
    }
    auto& slot = values_[static_cast<size_t>(at - names.begin())];
    if (slot) Raise("TypeError", function, "() got multiple values for argument '", name, "'");
    slot = std::move(value);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!values_[i] && !names[i].ends_with('=')) {
      Raise("TypeError", function, "() missing 1 required argument: '", names[i], "'");
    }
  }
}

Int Params::Integer(size_t i, Int fallback) const {
  return values_[i] ? ToIndex(*values_[i], "argument") : fallback;
}

bool Params::Flag(size_t i) const { return values_[i] && Truth(*values_[i]); }

bool Params::IntegerFlag(size_t i) const {
  const Int value = Integer(i, 0);
  if (value < INT_MIN || value > INT_MAX) {
    Raise("OverflowError", "Python int too large to convert to C int");
  }
  return value != 0;
}

}  // namespace moxie::text::jinja
