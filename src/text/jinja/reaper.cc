#include "text/jinja/reaper.h"

namespace moxie::text::jinja {
namespace {

struct Pending {
  std::vector<std::vector<Value>> values;
  std::vector<std::function<bool(Value&)>> functions;
};

// What the thread is draining, or null. A plain pointer: values may outlive a thread's objects.
thread_local Pending* draining = nullptr;

void Drain(Pending& pending) {
  draining = &pending;
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
  draining = nullptr;
}

}  // namespace

void Reap(std::vector<Value>&& values) {
  if (values.empty()) return;
  if (draining != nullptr) {
    draining->values.push_back(std::move(values));
    return;
  }
  Pending pending;
  pending.values.push_back(std::move(values));
  Drain(pending);
}

void Reap(std::function<bool(Value&)>&& function) {
  if (!function) return;
  if (draining != nullptr) {
    draining->functions.push_back(std::move(function));
    return;
  }
  Pending pending;
  pending.functions.push_back(std::move(function));
  Drain(pending);
}

}  // namespace moxie::text::jinja
