#include "text/jinja/template.h"

#include <chrono>

#include "text/jinja/bind.h"
#include "text/jinja/parser.h"

namespace moxie::text::jinja {

struct Template::Impl {
  Program program;
  std::vector<std::string> texts;
};

namespace {

void CollectTexts(Node& node, std::vector<std::string>& out) {
  if (node.kind == Node::Kind::kConst) {
    if (auto* text = static_cast<Const&>(node).value.text()) out.push_back(text->str());
  }
  node.Children([&](Node& child) { CollectTexts(child, out); });
}

}  // namespace

ClockTime LocalTime() {
  auto now = std::chrono::system_clock::now();
  std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  ClockTime out;
  localtime_r(&seconds, &out.time);
  auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch());
  out.microseconds = static_cast<int>(micros.count() % 1000000);
  return out;
}

Result<Template> Template::Parse(std::string_view source, const Limits& limits) {
  if (source.size() > limits.max_template_bytes) {
    return ResourceExhausted("the template has ", source.size(),
                             " bytes; max_template_bytes = ", limits.max_template_bytes);
  }
  try {
    auto impl = std::make_shared<Impl>();
    impl->program = Bind(ParseTemplate(source));
    for (auto& node : impl->program.body) CollectTexts(*node, impl->texts);
    return Template(std::move(impl));
  } catch (const SyntaxError& e) {
    if (e.column == 0) return InvalidArgument("line ", e.line, ": ", e.message);
    return InvalidArgument("line ", e.line, ", column ", e.column, ": ", e.message);
  } catch (const Error& e) {
    return InvalidArgument(e.message);
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory left to parse the template");
  }
}

std::shared_ptr<const std::vector<std::string>> Template::texts() const {
  return {impl_, &impl_->texts};
}

Result<Text> Template::Render(const Variables& variables, const RenderOptions& options) const {
  Meter meter(options.limits);
  Meter::Install install(meter);
  Interp interp(impl_->program, variables, options.clock);
  try {
    return interp.Run();
  } catch (const Error& e) {
    std::string message = StrCat(e.type, ": ", e.message, " (template line ", interp.line(), ")");
    if (e.Is(kLimit)) return Status(StatusCode::kResourceExhausted, std::move(message));
    if (e.Is(kUnsupported)) return Status(StatusCode::kUnimplemented, std::move(message));
    return Status(StatusCode::kInvalidArgument, std::move(message));
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("no memory left to render the template");
  }
}

}  // namespace moxie::text::jinja
