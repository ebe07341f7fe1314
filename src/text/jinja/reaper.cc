#include "text/jinja/reaper.h"

namespace moxie::text::jinja {
namespace {

struct Pending {
  bool active = false;
  std::vector<std::vector<Value>> values;
  std::vector<std::function<bool(Value&)>> functions;
};

Pending& ThisThread() {
  static thread_local Pending pending;
  return pending;
}

void Drain(Pending& pending) {
  pending.active = true;
  while (!pending.values.empty() || !pending.functions.empty()) {
    // Destroying one element may push more; they wait for the next turn.
    if (!pending.values.empty()) {
      auto values = std::move(pending.values.back());
      pending.values.pop_back();
    } else {
      auto function = std::move(pending.functions.back());
      pending.functions.pop_back();
    }
  }
  pending.active = false;
}

}  // namespace

void Reap(std::vector<Value>&& values) {
  if (values.empty()) return;
  Pending& pending = ThisThread();
  pending.values.push_back(std::move(values));
  if (!pending.active) Drain(pending);
}

void Reap(std::function<bool(Value&)>&& function) {
  if (!function) return;
  Pending& pending = ThisThread();
  pending.functions.push_back(std::move(function));
  if (!pending.active) Drain(pending);
}

}  // namespace moxie::text::jinja
