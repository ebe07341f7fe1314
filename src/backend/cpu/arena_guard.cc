#include "backend/cpu/arena_guard.h"

#include <algorithm>
#include <cstring>

namespace moxie::cpu {
namespace {

// NaN in every floating type, -1 in every integer type.
constexpr std::byte kPoison{0xff};

}  // namespace

ArenaGuard::ArenaGuard(const passes::BufferAssignment& assignment, std::span<std::byte> arena)
    : arena_(arena.first(static_cast<size_t>(assignment.arena_bytes))),
      lives_(assignment.lives),
      points_(assignment.points) {
  std::ranges::sort(lives_, {}, &passes::Life::offset);
  begins_.resize(points_.size() + 1);
  ends_.resize(points_.size() + 1);
  for (size_t i = 0; i < lives_.size(); ++i) {
    const auto last = static_cast<int>(points_.size());
    begins_[static_cast<size_t>(std::clamp(lives_[i].begin, 0, last))].push_back(i);
    ends_[static_cast<size_t>(std::clamp(lives_[i].end, 0, last))].push_back(i);
  }
}

void ArenaGuard::Reset() {
  alive_.assign(lives_.size(), false);
  at_ = -1;
  status_ = OkStatus();
  std::ranges::fill(arena_, kPoison);
}

void ArenaGuard::Advance(int point) {
  for (int idle = at_ + 1; idle < point; ++idle) {  // views and literals: no kernel runs
    Begin(idle);
    for (size_t life : ends_[static_cast<size_t>(idle)]) End(life);
  }
  Begin(point);
  at_ = point;
}

void ArenaGuard::Finish() {
  Check();
  for (size_t life : ends_[static_cast<size_t>(at_)]) End(life);
}

void ArenaGuard::FinishIteration(int enter, int exit, bool last) {
  Check();
  for (size_t life : ends_[static_cast<size_t>(exit)]) {
    if (last || lives_[life].begin > enter) End(life);
  }
  if (!last) at_ = enter;
}

void ArenaGuard::Begin(int point) {
  for (size_t life : begins_[static_cast<size_t>(point)]) alive_[life] = true;
}

void ArenaGuard::End(size_t life) {
  alive_[life] = false;
  const passes::Life& l = lives_[life];
  std::ranges::fill(arena_.subspan(static_cast<size_t>(l.offset), static_cast<size_t>(l.bytes)),
                    kPoison);
}

void ArenaGuard::Check() {
  if (!status_.ok()) return;
  size_t at = 0;
  std::string before = "the arena's start";
  auto check_to = [&](size_t end) {
    for (; at < end; ++at) {
      if (arena_[at] == kPoison) continue;
      status_ =
          Internal("byte ", at, " of the arena, ", "after ", before, ", belongs to nobody while ",
                   points_[static_cast<size_t>(at_)], " runs, and was written");
      return;
    }
  };
  for (size_t i = 0; i < lives_.size() && status_.ok(); ++i) {
    if (!alive_[i]) continue;
    check_to(static_cast<size_t>(lives_[i].offset));
    at = std::max(at, static_cast<size_t>(lives_[i].offset + lives_[i].bytes));
    before = lives_[i].label;
  }
  if (status_.ok()) check_to(arena_.size());
}

}  // namespace moxie::cpu
