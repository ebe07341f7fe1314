#include "cli/arena_svg.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/status.h"
#include "memory/plan.h"

namespace moxie::cli {
namespace {

using memory::FormatBytes;
using passes::BufferAssignment;
using passes::Life;

constexpr double kLeft = 90, kTop = 60, kWidth = 1000, kHeight = 420, kLine = 16;
constexpr int kTicks = 4;

std::string Escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string Number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text) {
  return StrCat("<text x=\"", Number(x), "\" y=\"", Number(y), "\" text-anchor=\"", anchor, "\">",
                Escaped(text), "</text>\n");
}

class Picture {
 public:
  Picture(const BufferAssignment& assignment, std::string_view model)
      : a_(assignment), model_(model) {}

  std::string Draw() {
    const size_t listed = a_.peak_values.size();
    const double height = kTop + kHeight + 60 + kLine * static_cast<double>(listed + 1);
    svg_ = StrCat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", Number(kLeft + kWidth + 20),
                  "\" height=\"", Number(height),
                  "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
    svg_ += Text(kLeft, 22, "start",
                 StrCat(model_, ": the arena of the largest step, ", FormatBytes(a_.arena_bytes)));
    svg_ += Text(kLeft, 42, "start",
                 StrCat("most is alive at ", a_.peak_op, ": ", FormatBytes(a_.lower_bound)));
    Axes();
    for (const Life& life : a_.lives) Box(life);
    Peak();
    return svg_ + "</svg>\n";
  }

 private:
  int Points() const { return std::max<int>(static_cast<int>(a_.points.size()), 1); }
  double X(int point) const { return kLeft + kWidth * std::min(point, Points()) / Points(); }
  double Y(int64_t offset) const {
    return kTop + kHeight * (1 - static_cast<double>(offset) /
                                     static_cast<double>(std::max<int64_t>(a_.arena_bytes, 1)));
  }
  std::string OpAt(int point) const {
    const bool known = point >= 0 && point < static_cast<int>(a_.points.size());
    return known ? a_.points[static_cast<size_t>(point)] : "the end";
  }
  bool AtPeak(const Life& life) const {
    return life.begin <= a_.peak_point && a_.peak_point <= life.end;
  }

  void Axes() {
    for (int i = 0; i <= kTicks; ++i) {
      const int64_t bytes = a_.arena_bytes * i / kTicks;
      svg_ += Text(kLeft - 6, Y(bytes) + 4, "end", FormatBytes(bytes));
      svg_ += StrCat("<path d=\"M", Number(kLeft), " ", Number(Y(bytes)), " h", Number(kWidth),
                     "\" stroke=\"#ddd\"/>\n");
    }
    svg_ += Text(kLeft, kTop + kHeight + 18, "start", OpAt(0));
    svg_ += Text(kLeft + kWidth, kTop + kHeight + 18, "end", OpAt(Points() - 1));
  }

  void Box(const Life& life) {
    const double x = X(life.begin), y = Y(life.offset + life.bytes);
    svg_ += StrCat(
        "<rect x=\"", Number(x), "\" y=\"", Number(y), "\" width=\"", Number(X(life.end + 1) - x),
        "\" height=\"", Number(Y(life.offset) - y), "\" fill=\"",
        AtPeak(life) ? "#d9603b" : "#8fb3d9", "\" stroke=\"white\" stroke-width=\"0.5\"><title>",
        Escaped(life.label), "\n", FormatBytes(life.bytes), " at ", life.offset, "\nfrom ",
        Escaped(OpAt(life.begin)), "\nto ", Escaped(OpAt(life.end)), "</title></rect>\n");
  }

  void Peak() {
    svg_ += StrCat("<path d=\"M", Number((X(a_.peak_point) + X(a_.peak_point + 1)) / 2), " ",
                   Number(kTop), " v", Number(kHeight), "\" stroke=\"black\"/>\n");
    double y = kTop + kHeight + 44;
    svg_ += Text(kLeft, y, "start", StrCat("Alive at ", a_.peak_op, ", largest first:"));
    for (const std::string& value : a_.peak_values) {
      svg_ += Text(kLeft + 16, y += kLine, "start", value);
    }
  }

  const BufferAssignment& a_;
  std::string_view model_;
  std::string svg_;
};

}  // namespace

std::string ArenaSvg(const BufferAssignment& assignment, std::string_view model) {
  return Picture(assignment, model).Draw();
}

}  // namespace moxie::cli
