// ArenaGuard: a checking mode of the executor. All bytes of the arena that nobody owns at a point
// of the program hold a poison, from the op that frees them to the op that takes them again.
//
// A kernel that reads what another owner left reads NaN (or -1), and results change. One that
// writes outside what it declared damages the poison, and the step ends with an error that names
// it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "passes/buffer_assignment.h"

namespace moxie::cpu {

class ArenaGuard {
 public:
  // Copies the assignment's lives; `arena` is what they lie in.
  ArenaGuard(const passes::BufferAssignment& assignment, std::span<std::byte> arena);

  // A step begins: all is poison.
  void Reset();
  // The program goes on to `point`: what lives from there on is its owner's.
  void Advance(int point);
  // The op at the point is done: checks all poison, then poisons what lived no longer than that.
  void Finish();
  // An iteration of a repeat is done, after its carries moved; but for the last, it goes on with
  // the first op of its body. What the repeat reads in each iteration lives to the end of the last.
  void FinishIteration(int enter, int exit, bool last);

  // The first damage of the step.
  const Status& status() const { return status_; }

 private:
  void Begin(int point);
  void End(size_t life);
  void Check();

  std::span<std::byte> arena_;
  std::vector<passes::Life> lives_;                 // by offset
  std::vector<std::vector<size_t>> begins_, ends_;  // lives, by point
  std::vector<std::string> points_;
  std::vector<bool> alive_;  // by life
  int at_ = -1;
  Status status_;
};

}  // namespace moxie::cpu
