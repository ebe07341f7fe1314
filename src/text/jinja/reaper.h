// Destroys values without recursion: a chain of containers as long as memory allows must not need a
// stack as deep.
#pragma once

#include <functional>
#include <vector>

#include "text/jinja/value.h"

namespace moxie::text::jinja {

// Destroys the values now or, when called from a destructor that runs inside another Reap, soon.
void Reap(std::vector<Value>&& values);
// The same for what a generator has captured.
void Reap(std::function<bool(Value&)>&& function);

}  // namespace moxie::text::jinja
