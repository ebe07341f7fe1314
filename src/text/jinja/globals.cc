#include "text/jinja/globals.h"

#include <algorithm>

#include "text/jinja/objects.h"
#include "text/jinja/params.h"

namespace moxie::text::jinja {
namespace {

constexpr Int kMaxRange = 100000;  // jinja2's MAX_RANGE
constexpr size_t kMaxClockText = 4096;

Value MakeRange(Interp&, Args args) {
  if (!args.keyword.empty()) Raise("TypeError", "range() takes no keyword arguments");
  if (args.positional.empty()) Raise("TypeError", "range expected at least 1 argument, got 0");
  Params p("range", std::move(args), "start,stop=,step=");
  RangeValue range;
  range.stop = p.Integer(0, 0);
  if (p[1] != nullptr) {
    range.start = range.stop;
    range.stop = p.Integer(1, 0);
    range.step = p.Integer(2, 1);
  }
  if (range.step == 0) Raise("ValueError", "range() arg 3 must not be zero");
  constexpr Int kFar = Int{1} << 100;
  for (Int* bound : {&range.start, &range.stop, &range.step}) {
    if (*bound > kFar || *bound < -kFar) Raise(kLimit, "a range bound of over 100 bits");
  }
  if (range.length() > kMaxRange) {
    Raise("OverflowError", "Range too big. The sandbox blocks ranges larger than MAX_RANGE (",
          static_cast<long long>(kMaxRange), ").");
  }
  return range;
}

// dict(mapping or pairs, **kwargs)
std::shared_ptr<Dict> BuildDict(Args args) {
  if (args.positional.size() > 1) {
    Raise("TypeError", "dict expected at most 1 argument, got ", args.positional.size());
  }
  auto dict = std::make_shared<Dict>();
  if (!args.positional.empty()) {
    const Value& from = args.positional[0];
    if (auto* undefined = from.undefined()) throw Error{undefined->error, undefined->message};
    if (const Dict* other = from.dict()) {
      for (const Dict::Item& item : other->items()) dict->Set(item.key, item.value);
    } else {
      auto it = Iterate(from);
      for (Value pair; it->Next(pair);) {
        if (!IsIterable(pair)) {
          Raise("TypeError", "cannot convert dictionary update sequence element to a sequence");
        }
        std::vector<Value> items = ToVector(pair);
        if (items.size() != 2) {
          Raise("ValueError", "dictionary update sequence element has length ", items.size(),
                "; 2 is required");
        }
        dict->Set(items[0], items[1]);
      }
    }
  }
  for (auto& [name, value] : args.keyword) dict->Set(Text(name, Origin::kTemplate), value);
  return dict;
}

Value MakeDict(Interp&, Args args) { return DictPtr(BuildDict(std::move(args))); }

Value MakeNamespace(Interp& interp, Args args) {
  auto dict = BuildDict(std::move(args));
  for (const Dict::Item& item : dict->items()) Namespace::CheckName(item.key);
  std::shared_ptr<Object> object = std::make_shared<Namespace>(std::move(dict));
  interp.Register(object);
  return object;
}

Value MakeCycler(Interp&, Args args) {
  if (!args.keyword.empty()) Raise("TypeError", "cycler() takes no keyword arguments");
  if (args.positional.empty()) Raise("RuntimeError", "at least one item has to be provided");
  return std::shared_ptr<Object>(std::make_shared<Cycler>(std::move(args.positional)));
}

Value MakeJoiner(Interp&, Args args) {
  Params p("joiner", std::move(args), "sep=");
  return std::shared_ptr<Object>(std::make_shared<Joiner>(p.Or(0, Value(", "))));
}

Value RaiseException(Interp& interp, Args args) {
  Params p("raise_exception", std::move(args), "message");
  throw Error{"TemplateError", Str(interp, *p[0]).str()};
}

// One strftime directive of a naive datetime: %f is the microseconds, %z and %Z are empty.
std::string FormatDirective(const ClockTime& now, char directive) {
  char buffer[128];
  if (directive == 'f') {
    snprintf(buffer, sizeof buffer, "%06d", now.microseconds);
    return buffer;
  }
  if (directive == 'z' || directive == 'Z') return "";
  const char format[] = {'%', directive, '\0'};
  return std::string(buffer, std::strftime(buffer, sizeof buffer, format, &now.time));
}

Value StrftimeNow(Interp& interp, Args args) {
  Params p("strftime_now", std::move(args), "format");
  auto* format = p[0]->text();
  if (format == nullptr) {
    Raise("TypeError", "strftime() argument 1 must be str, not ", TypeName(*p[0]));
  }
  ClockTime now = interp.clock()();
  std::string_view f = format->view();
  TextBuilder out;
  for (size_t i = 0; i < f.size(); ++i) {
    if (f[i] != '%' || i + 1 == f.size()) {
      out.Add(f.substr(i, 1), format->OriginAt(i));
      continue;
    }
    out.Add(FormatDirective(now, f[++i]), Origin::kTemplate);
    if (out.bytes() > kMaxClockText) Raise(kLimit, "strftime_now writes over 4096 bytes");
  }
  return out.Take();
}

Value Lipsum(Interp&, Args) {
  Raise(kUnsupported, "lipsum writes random text, which has no place in a prompt");
}

struct GlobalRow {
  std::string_view name;
  Value (*call)(Interp&, Args);
};

constexpr GlobalRow kGlobals[] = {
    {"range", MakeRange},         {"dict", MakeDict},
    {"namespace", MakeNamespace}, {"cycler", MakeCycler},
    {"joiner", MakeJoiner},       {"raise_exception", RaiseException},
    {"lipsum", Lipsum},           {"strftime_now", StrftimeNow},
};

}  // namespace

std::optional<Value> FindGlobal(std::string_view name) {
  auto row = std::find_if(std::begin(kGlobals), std::end(kGlobals),
                          [&](const GlobalRow& r) { return r.name == name; });
  if (row == std::end(kGlobals)) return std::nullopt;
  return MakeFunction(std::string(name), row->call);
}

}  // namespace moxie::text::jinja
